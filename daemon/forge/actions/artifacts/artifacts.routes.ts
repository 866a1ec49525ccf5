import { artifactServiceEndpoints } from "../../../contract/forge/actions/artifact-service.ts";
import { artifactEndpoints } from "../../../contract/forge/actions/artifacts.ts";
import { repositoryActionEndpoints } from "../../../contract/forge/actions/repository-actions.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { ForgeUrls } from "../../urls.ts";
import { toArtifactDownload, toArtifactView } from "./artifact.view.ts";
import type { ArtifactUploads } from "./artifact-uploads.service.ts";
import { handleArtifact } from "./artifacts-api.ts";
import type { Artifacts, ArtifactDetails } from "./artifacts.service.ts";
import { toTextAnswer } from "../actions.view.ts";
import type { Summaries } from "./summaries.service.ts";

/** Returns the routes by which users see artifacts. */
export function artifactRoutes({
  artifacts,
  summaries,
  urls,
}: {
  readonly artifacts: Artifacts;
  readonly summaries: Summaries;
  readonly urls: ForgeUrls;
}): Route[] {
  const toList = (found: {
    readonly artifacts: readonly ArtifactDetails[];
    readonly total: number;
  }) =>
    ({
      status: 200,
      body: {
        artifacts: found.artifacts.map((each) => toArtifactView(each, urls)),
        total_count: found.total,
      },
      total: found.total,
    }) as const;
  return [
    handle(artifactEndpoints.listArtifacts, async ({ caller, params, query }) =>
      toList(await artifacts.list(params, caller, query)),
    ),
    handle(artifactEndpoints.listRunArtifacts, async ({ caller, params, query }) =>
      toList(await artifacts.listOfRun(params, caller, query)),
    ),
    handle(artifactEndpoints.getArtifact, async ({ caller, params }) => ({
      status: 200,
      body: toArtifactView(await artifacts.get(params, caller), urls),
    })),
    handle(artifactEndpoints.deleteArtifact, async ({ caller, params }) => {
      await artifacts.remove(params, caller);
      return { status: 204, body: undefined };
    }),
    handle(repositoryActionEndpoints.getRunSummary, async ({ caller, params }) =>
      toTextAnswer(await summaries.open(params, caller), "text/markdown; charset=utf-8"),
    ),
    handle(artifactEndpoints.openArtifact, async ({ caller, params }) => ({
      status: 302,
      headers: { Location: await artifacts.getAddress(params, caller) },
    })),
  ];
}

/** Returns the routes by which jobs upload and download artifacts. */
export function artifactServiceRoutes({
  artifacts,
  summaries,
  uploads,
}: {
  readonly artifacts: Artifacts;
  readonly summaries: Summaries;
  readonly uploads: ArtifactUploads;
}): Route[] {
  return [
    handleArtifact(artifactServiceEndpoints.putStepSummary, async ({ caller, params, body }) => {
      await summaries.put(caller, params, body);
      const message = body.byteLength === 0 ? "cleared" : "success";
      const { byteLength: sizeBytes } = body;
      return { status: 200, body: { message, sizeBytes, runAttempt: caller.attempt } };
    }),
    handleArtifact(artifactServiceEndpoints.createArtifact, async ({ caller, body }) => ({
      status: 200,
      body: {
        ok: true,
        signed_upload_url: await uploads.create(caller, {
          name: body.name,
          contentType: body.mime_type ?? undefined,
          expiresAt: body.expires_at == null ? undefined : Date.parse(body.expires_at),
        }),
      },
    })),
    handleArtifact(artifactServiceEndpoints.finalizeArtifact, async ({ caller, body }) => {
      const sha256 = /^sha256:([0-9a-f]{64})$/.exec(body.hash ?? "")?.[1];
      const id = await uploads.complete(caller, body.name, { size: body.size, sha256 });
      return { status: 200, body: { ok: true, artifact_id: String(id) } };
    }),
    handleArtifact(artifactServiceEndpoints.listJobArtifacts, async ({ caller, body }) => ({
      status: 200,
      body: {
        artifacts: (await artifacts.listReadable(caller))
          .filter(
            ({ id, name }) => (body.id_filter ?? id) === id && (body.name_filter ?? name) === name,
          )
          .map(({ id, name, size, createdAt, sha256 }) => ({
            workflow_run_backend_id: String(caller.runId),
            workflow_job_run_backend_id: String(caller.jobId),
            database_id: String(id),
            name,
            size: String(size),
            created_at: new Date(createdAt).toISOString(),
            digest: `sha256:${sha256 ?? ""}`,
          })),
      },
    })),
    handleArtifact(artifactServiceEndpoints.signArtifactAddress, async ({ caller, body }) => ({
      status: 200,
      body: { signed_url: await artifacts.getReadableAddress(caller, body.name) },
    })),
    handleArtifact(artifactServiceEndpoints.deleteJobArtifact, async ({ caller, body }) => ({
      status: 200,
      body: { ok: true, artifact_id: String(await artifacts.removeOfTask(caller, body.name)) },
    })),
    handleArtifact(
      artifactServiceEndpoints.uploadArtifactPart,
      async ({ caller, query, body, request }) => {
        const declaredBytes = Number(request.headers["content-length"] ?? 0);
        await uploads.receive(caller.artifactId, { ...query, body, declaredBytes });
        return { status: 201 };
      },
    ),
    handleArtifact(artifactServiceEndpoints.downloadArtifactBytes, async ({ caller }) =>
      toArtifactDownload(await artifacts.download(caller.artifactId)),
    ),
  ];
}
