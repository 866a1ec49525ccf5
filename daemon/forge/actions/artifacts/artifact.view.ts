import type { WireArtifact } from "../../../contract/forge/actions/artifacts.ts";
import type { BytesAnswer } from "../../../http/handle.ts";
import { toContentDisposition } from "../../packages/download.view.ts";
import { type ForgeUrls, toApiUrl, toUrl, toWireTime } from "../../urls.ts";
import { ARCHIVE_TYPE } from "./artifact-uploads.service.ts";
import type { ArtifactDownload, ArtifactDetails } from "./artifacts.service.ts";

export function toArtifactView(
  { owned, run, artifact }: ArtifactDetails,
  urls: ForgeUrls,
): WireArtifact {
  const home = `${owned.owner.name}/${owned.repository.name}`;
  const url = toApiUrl(urls, `/repos/${home}/actions/artifacts/${artifact.id}`);
  return {
    id: artifact.id,
    name: artifact.name,
    size_in_bytes: artifact.size,
    url,
    archive_download_url: `${url}/zip`,
    expired: artifact.state === "expired",
    ...(artifact.sha256 === undefined ? {} : { digest: `sha256:${artifact.sha256}` }),
    workflow_run: {
      id: run.id,
      url: toApiUrl(urls, `/repos/${home}/actions/runs/${run.id}`),
      html_url: toUrl(urls, `/${home}/actions/runs/${run.id}`),
      repository_id: artifact.repositoryId,
      head_sha: run.headSha,
      run_attempt: artifact.attempt,
    },
    created_at: toWireTime(artifact.createdAt),
    updated_at: toWireTime(artifact.updatedAt),
    expires_at: toWireTime(artifact.expiresAt),
  };
}

/** The bytes of an artifact. Jobs choose its type, so no browser may render it. */
export function toArtifactDownload({ artifact, sha256, open }: ArtifactDownload): BytesAnswer {
  const { name, contentType, size, updatedAt } = artifact;
  const isArchive = contentType === ARCHIVE_TYPE && !name.endsWith(".zip");
  const filename = isArchive ? `${name}.zip` : name;
  return {
    status: 200,
    headers: {
      "Content-Disposition": toContentDisposition(filename, "attachment"),
      "Content-Security-Policy": "sandbox; default-src 'none'",
    },
    bytes: { size, contentType, etag: sha256, lastModified: new Date(updatedAt), open },
  };
}
