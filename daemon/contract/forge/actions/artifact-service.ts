import { resource } from "../resource.ts";
// The artifact service of jobs, as the toolkit of actions calls it: Twirp with JSON, and signed addresses for the bytes.
import { z } from "zod";
import { isMediaType } from "../../media-type.ts";
import { artifactAddress, bytes, empty, forgeJob, stream, wholeBytes } from "../../endpoint.ts";
import { pathInteger } from "../common.ts";

const apiOnly = "the toolkit of actions calls it from jobs";

/** The body of an error of Twirp. */
const serviceError = z.object({ code: z.string(), msg: z.string() });

const refusals = { 400: serviceError, 401: serviceError } as const;
const namedRefusals = { ...refusals, 404: serviceError } as const;

/** Characters of the longest name and content type. */
const NAME_CHARACTERS_MAX = 255;

/** Refuses the same characters as the toolkit: the name becomes a file or folder on any operating system. */
const artifactName = z
  .string()
  .min(1)
  .max(NAME_CHARACTERS_MAX)
  .regex(/^[^\\/":<>|*?\p{Cc}\p{Cs}]+$/u, "name contains a character that no file name may have")
  .regex(/^(?!\.{1,2}$)/, "name is that of a folder above");

const mediaType = z
  .string()
  .max(NAME_CHARACTERS_MAX)
  .refine((text) => isMediaType(text), "mime_type is not a media type");

/** A number of 64 bits, which JSON of protobuf writes as text. */
const int64 = z
  .union([z.string().regex(/^\d{1,15}$/), z.int().min(0)])
  .transform((value) => Number(value));

/** Members of protobuf may be written in snake case or camel case. */
const message = <S extends z.ZodRawShape>(shape: S) =>
  z.preprocess(
    (value) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value).map(([name, member]) => [
              name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
              member,
            ]),
          )
        : value,
    z.object({
      workflow_run_backend_id: z.string(),
      workflow_job_run_backend_id: z.string(),
      ...shape,
    }),
  );

const signed = z.object({ sig: z.string() });

const SUMMARY_BYTES_MAX = 1024 * 1024;

export const artifactServiceEndpoints = {
  ...resource(
    {
      name: "forge.actions.summaries",
      path: "/api/actions_pipeline/_apis/pipelines/workflows/:run/jobs/:job/steps/:step/summary",
      params: z.object({ run: pathInteger, job: pathInteger, step: pathInteger }),
      gate: forgeJob,
    },
    ({ operation }) => ({
      putStepSummary: operation({
        as: "put",
        method: "PUT",
        summary: "Store the summary of a step, in Markdown; an empty one deletes it",
        body: wholeBytes("text/markdown"),
        replies: {
          200: z.object({ message: z.string(), sizeBytes: z.int(), runAttempt: z.int() }),
          ...refusals,
          413: serviceError,
        },
        refusesOnly: [],
        maxBodyBytes: SUMMARY_BYTES_MAX,
        apiOnly: "runners send the summaries that steps write to GITHUB_STEP_SUMMARY",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.actions.artifacts.service",
      path: "/twirp/github.actions.results.api.v1.ArtifactService/CreateArtifact",
      gate: forgeJob,
    },
    ({ operation }) => ({
      createArtifact: operation({
        as: "create",
        method: "POST",
        summary: "Begin the upload of an artifact by a job",
        body: message({
          name: artifactName,
          version: z.int().optional(),
          expires_at: z.iso.datetime({ offset: true }).nullish(),
          mime_type: mediaType.nullish(),
        }),
        replies: {
          200: z.object({ ok: z.boolean(), signed_upload_url: z.string() }),
          ...refusals,
          413: serviceError,
        },
        refusesOnly: [],
        apiOnly,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.actions.artifacts.service",
      path: "/twirp/github.actions.results.api.v1.ArtifactService/FinalizeArtifact",
      gate: forgeJob,
    },
    ({ operation }) => ({
      finalizeArtifact: operation({
        as: "finalize",
        method: "POST",
        summary: "Complete the upload of an artifact",
        body: message({ name: artifactName, size: int64.default(0), hash: z.string().nullish() }),
        replies: {
          200: z.object({ ok: z.boolean(), artifact_id: z.string() }),
          ...namedRefusals,
          503: serviceError,
          507: serviceError,
        },
        refusesOnly: [],
        apiOnly,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.actions.artifacts.service",
      path: "/twirp/github.actions.results.api.v1.ArtifactService/ListArtifacts",
      gate: forgeJob,
    },
    ({ operation }) => ({
      listJobArtifacts: operation({
        as: "list",
        method: "POST",
        summary: "List the artifacts that a job can read",
        body: message({ name_filter: z.string().nullish(), id_filter: int64.nullish() }),
        replies: {
          200: z.object({
            artifacts: z.array(
              z.object({
                workflow_run_backend_id: z.string(),
                workflow_job_run_backend_id: z.string(),
                database_id: z.string(),
                name: z.string(),
                size: z.string(),
                created_at: z.string(),
                digest: z.string(),
              }),
            ),
          }),
          ...refusals,
        },
        refusesOnly: [],
        apiOnly,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.actions.artifacts.service",
      path: "/twirp/github.actions.results.api.v1.ArtifactService/GetSignedArtifactURL",
      gate: forgeJob,
    },
    ({ operation }) => ({
      signArtifactAddress: operation({
        as: "sign",
        method: "POST",
        summary: "Get an address from which a job downloads an artifact",
        body: message({ name: artifactName }),
        replies: { 200: z.object({ signed_url: z.string() }), ...namedRefusals },
        refusesOnly: [],
        apiOnly,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.actions.artifacts.service",
      path: "/twirp/github.actions.results.api.v1.ArtifactService/DeleteArtifact",
      gate: forgeJob,
    },
    ({ operation }) => ({
      deleteJobArtifact: operation({
        as: "delete",
        method: "POST",
        summary: "Delete an artifact of the job's run attempt",
        body: message({ name: artifactName }),
        replies: { 200: z.object({ ok: z.boolean(), artifact_id: z.string() }), ...namedRefusals },
        refusesOnly: [],
        apiOnly,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.actions.artifacts",
      path: "/twirp/github.actions.results.api.v1.ArtifactService/UploadArtifact",
      gate: artifactAddress,
    },
    ({ operation }) => ({
      uploadArtifactPart: operation({
        as: "upload",
        method: "PUT",
        summary: "Upload a block of an artifact, the list of its blocks, or the whole",
        query: signed.extend({
          comp: z
            .string()
            .default("")
            .transform((word) => word.toLowerCase())
            .pipe(z.enum(["", "block", "appendblock", "blocklist"])),
          blockid: z
            .string()
            .regex(/^[\w+/=-]{0,256}$/)
            .default(""),
        }),
        body: stream("application/octet-stream", "application/xml"),
        replies: { 201: empty, ...namedRefusals, 413: serviceError, 507: serviceError },
        refusesOnly: [],
        apiOnly,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.actions.artifacts",
      path: "/twirp/github.actions.results.api.v1.ArtifactService/DownloadArtifact",
      gate: artifactAddress,
    },
    ({ operation }) => ({
      downloadArtifactBytes: operation({
        as: "download",
        method: "GET",
        summary: "Download an artifact from a signed address; ranges are served",
        query: signed,
        replies: { 200: bytes, ...namedRefusals, 503: serviceError },
        refusesOnly: [],
      }),
    }),
  ),
};
