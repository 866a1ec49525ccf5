import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, empty, forgeUser } from "../../endpoint.ts";
import { paging, pathInteger, queryText, wireId, wireTime } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
const artifactParams = repositoryParams.extend({ artifact_id: pathInteger });
const read = anyoneWithin("repository");

/** An artifact of a run. */
const artifactShape = z.object({
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

export const artifactEndpoints = {
  ...resource(
    {
      name: "forge.repos.actions.artifacts",
      path: "/api/v1/repos/:owner/:repo/actions/artifacts",
      params: repositoryParams,
      gate: read,
      on: repository("actions", "read"),
    },
    ({ operation }) => ({
      listArtifacts: operation({
        as: "list",
        method: "GET",
        summary: "List the artifacts of a repository",
        query: z.object({ name: queryText, ...paging }),
        paging: "link_and_total",
        replies: { 200: artifactList },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.actions.runs",
      path: "/api/v1/repos/:owner/:repo/actions/runs/:run/artifacts",
      params: repositoryParams.extend({ run: pathInteger }),
      shape: artifactList,
      gate: read,
      on: repository("actions", "read"),
    },
    ({ get }) => ({
      listRunArtifacts: get("List the artifacts of a run", {
        as: "artifacts",
        query: z.object({ name: queryText, ...paging }),
        paging: "link_and_total",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.actions.artifacts",
      path: "/api/v1/repos/:owner/:repo/actions/artifacts/:artifact_id",
      params: artifactParams,
      shape: artifactShape,
      gate: { read: read, change: forgeUser("repository") },
      on: { read: repository("actions", "read"), change: repository("actions", "write") },
      acceptsArchived: true,
    },
    ({ get, remove, operation }) => ({
      getArtifact: get("Get an artifact", {
        apiOnly: "croft run artifact list shows the artifacts of a run",
      }),
      deleteArtifact: remove("Delete an artifact"),
      openArtifact: operation({
        as: "open",
        method: "GET",
        at: "zip",
        summary:
          "Get redirected to an address from which the artifact is downloaded without credentials",
        replies: { 302: empty },
      }),
    }),
  ),
};
