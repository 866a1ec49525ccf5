import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  paging,
  pathInteger,
  queryText,
  signedInReplies,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";

const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const artifactParams = repositoryParams.extend({ artifact_id: pathInteger });
const read = anyoneWithin("repository");

/** An artifact of a run. */
export const artifactShape = z.object({
  id: wireId,
  name: z.string(),
  size_in_bytes: z.int(),
  url: z.string(),
  archive_download_url: z.string(),
  expired: z.boolean(),
  /** `sha256:` and the digest in hex; absent once expired. */
  digest: z.string().optional(),
  workflow_run: z.object({
    id: wireId,
    url: z.string(),
    html_url: z.string(),
    repository_id: wireId,
    head_sha: z.string(),
    run_attempt: z.int(),
  }),
  created_at: wireTime,
  updated_at: wireTime,
  expires_at: wireTime,
});
export type WireArtifact = z.output<typeof artifactShape>;

const artifactList = z.object({ artifacts: z.array(artifactShape), total_count: z.int() });

export const listArtifacts = endpoint({
  name: "forge.repos.actions.artifacts.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/artifacts",
  summary: "List the artifacts of a repository",
  gate: read,
  params: repositoryParams,
  query: z.object({ name: queryText, ...paging }),
  paging: "link_and_total",
  replies: { 200: artifactList, ...lookupReplies },
});

export const listRunArtifacts = endpoint({
  name: "forge.repos.actions.runs.artifacts",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/artifacts",
  summary: "List the artifacts of a run",
  gate: read,
  params: repositoryParams.extend({ run: pathInteger }),
  query: z.object({ name: queryText, ...paging }),
  paging: "link_and_total",
  replies: { 200: artifactList, ...lookupReplies },
});

export const getArtifact = endpoint({
  name: "forge.repos.actions.artifacts.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/artifacts/:artifact_id",
  summary: "Get an artifact",
  gate: read,
  params: artifactParams,
  replies: { 200: artifactShape, ...lookupReplies },
  apiOnly: "croft run artifact list shows the artifacts of a run",
});

export const deleteArtifact = endpoint({
  name: "forge.repos.actions.artifacts.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/actions/artifacts/:artifact_id",
  summary: "Delete an artifact",
  gate: forgeUser("repository"),
  params: artifactParams,
  replies: { 204: empty, ...lookupReplies },
});

export const openArtifact = endpoint({
  name: "forge.repos.actions.artifacts.open",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/artifacts/:artifact_id/zip",
  summary: "Get redirected to an address from which the artifact is downloaded without credentials",
  gate: read,
  params: artifactParams,
  replies: { 302: empty, ...lookupReplies },
});

export const artifactEndpoints = {
  listArtifacts,
  listRunArtifacts,
  getArtifact,
  deleteArtifact,
  openArtifact,
};
