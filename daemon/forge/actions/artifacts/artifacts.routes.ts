import { artifactServiceEndpoints } from "../../../contract/forge/actions/artifact-service.ts";
import { artifactEndpoints } from "../../../contract/forge/actions/artifacts.ts";
import type { Route } from "../../../http/handle.ts";
import { answer } from "../../../http/serve.ts";
import { serve } from "../../handle.ts";
import type { ForgeUrls } from "../../urls.ts";
import { toArtifactDownload, toArtifactView } from "./artifact.view.ts";
import type { ArtifactUploads } from "./artifact-uploads.service.ts";
import { handleArtifact } from "./artifacts-api.ts";
import type { Artifacts, ArtifactDetails } from "./artifacts.service.ts";
import type { Summaries } from "./summaries.service.ts";

/** Returns the routes by which users see artifacts. */
export function artifactRoutes({
  artifacts,
  urls,
}: {
  readonly artifacts: Artifacts;
  readonly urls: ForgeUrls;
}): Route[] {
  const toList = (found: {
    readonly artifacts: readonly ArtifactDetails[];
    readonly total: number;
  }) => {
    const { total } = found;
    const views = found.artifacts.map((each) => toArtifactView(each, urls));
    return answer({ artifacts: views, total_count: total }, { total });
  };
  return serve(artifactEndpoints, {
    listArtifacts: async ({ opened, query }) => toList(await artifacts.list(opened, query)),
    listRunArtifacts: async ({ opened, params, query }) =>
      toList(await artifacts.listOfRun(opened, params.run, query)),
    getArtifact: async ({ opened, params }) =>
      toArtifactView(await artifacts.get(opened, params.artifact_id), urls),
    deleteArtifact: ({ opened, params }) => artifacts.remove(opened, params.artifact_id),
    openArtifact: async ({ opened, params }) => {
      const address = await artifacts.getAddress(opened, params.artifact_id);
      return answer(undefined, { headers: { Location: address } });
    },
  });
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
