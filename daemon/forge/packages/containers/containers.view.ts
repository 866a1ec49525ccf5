import { Readable } from "node:stream";
import {
  containerTypes,
  type WireContainerImage,
  type WireContainerRefusal,
} from "../../../contract/forge/packages/containers.ts";
import type { ContainerUpload } from "../../../../storage/tables/forge/packages/container-blobs.ts";
import type {
  ContainerManifest,
  ContainerReferrer,
} from "../../../../storage/tables/forge/packages/containers.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import type { BytesAnswer } from "../../../http/handle.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import type { OpenedBlob } from "./blobs.service.ts";
import type { ManifestContent, NamePage } from "./manifests.service.ts";
import { type ImageAt, isDigestVersion } from "./references.ts";
import type { AppendOutcome, BegunUpload } from "./uploads.service.ts";

/** Returns the path of an image; its name keeps its slashes. */
export const toImagePath = ({ owner, name }: ImageAt): string => `/v2/${owner}/${name}`;

/** Converts a blob to a response. */
export function toBlobAnswer({ blob, open }: OpenedBlob): BytesAnswer {
  return {
    status: 200,
    headers: { "Docker-Content-Digest": blob.digest },
    bytes: {
      size: blob.size,
      contentType: "application/octet-stream",
      etag: blob.digest,
      lastModified: undefined,
      open,
    },
  };
}

/** Converts a manifest to a response. */
export function toManifestAnswer({ manifest, content }: ManifestContent): BytesAnswer {
  return toJsonBytes(Buffer.from(content), manifest.mediaType, manifest.digest, {
    "Docker-Content-Digest": manifest.digest,
  });
}

/** Converts a page of referrers to a response: an index of them. */
export function toReferrersAnswer(
  { referrers, hasMore }: { readonly referrers: readonly ContainerReferrer[]; hasMore: boolean },
  at: ImageAt & { readonly digest: string },
  artifactType: string,
): BytesAnswer {
  const index = {
    schemaVersion: 2,
    mediaType: containerTypes.index,
    manifests: referrers.map((each) => ({
      mediaType: each.mediaType,
      digest: each.digest,
      size: each.size,
      ...(each.artifactType === "" ? {} : { artifactType: each.artifactType }),
      ...(Object.keys(each.annotations).length === 0 ? {} : { annotations: each.annotations }),
    })),
  };
  const last = hasMore ? referrers.at(-1) : undefined;
  const query = new URLSearchParams({ ...(artifactType && { artifactType }), last: `${last?.id}` });
  return toJsonBytes(Buffer.from(JSON.stringify(index)), containerTypes.index, undefined, {
    ...(artifactType === "" ? {} : { "OCI-Filters-Applied": "artifactType" }),
    ...(last === undefined
      ? {}
      : { Link: `<${toImagePath(at)}/referrers/${at.digest}?${query}>; rel="next"` }),
  });
}

function toJsonBytes(
  buffer: Buffer,
  contentType: string,
  etag: string | undefined,
  headers: Readonly<Record<string, string>>,
): BytesAnswer {
  const open = async (range?: { readonly start: number; readonly end: number }) =>
    Readable.from([range === undefined ? buffer : buffer.subarray(range.start, range.end + 1)]);
  const size = buffer.byteLength;
  return {
    status: 200,
    headers,
    bytes: { size, contentType, etag, lastModified: undefined, buffer, open },
  };
}

/** The headers of a page of names. */
export function toLink(path: string, { next }: NamePage, n: string): Record<string, string> {
  if (next === undefined) return {};
  const query = new URLSearchParams({ ...(n && { n }), last: next });
  return { Link: `<${path}?${query}>; rel="next"` };
}

/** The headers of an upload: where it goes on, and how much has arrived. */
export function toUploadHeaders(at: ImageAt, { id, size }: ContainerUpload) {
  return {
    Location: `${toImagePath(at)}/blobs/uploads/${id}`,
    Range: `0-${Math.max(size - 1, 0)}`,
    "Docker-Upload-UUID": id,
  };
}

/** Converts what a request for an upload has led to. */
export function toBegunAnswer(at: ImageAt, begun: BegunUpload) {
  return begun.kind === "started"
    ? ({ status: 202, headers: toUploadHeaders(at, begun.upload) } as const)
    : ({ status: 201, headers: toStoredHeaders(at, begun.digest) } as const);
}

export function toAppendAnswer(at: ImageAt, { kind, upload }: AppendOutcome) {
  const headers = toUploadHeaders(at, upload);
  return kind === "appended"
    ? ({ status: 202, headers } as const)
    : ({ status: 416, headers, body: toOutOfOrder(upload) } as const);
}

export function toCompleteAnswer(at: ImageAt, digest: string, { kind, upload }: AppendOutcome) {
  return kind === "appended"
    ? ({ status: 201, headers: toStoredHeaders(at, digest) } as const)
    : ({
        status: 416,
        headers: toUploadHeaders(at, upload),
        body: toOutOfOrder(upload),
      } as const);
}

const toOutOfOrder = ({ size }: ContainerUpload): WireContainerRefusal => ({
  errors: [{ code: "BLOB_UPLOAD_INVALID", message: `the upload goes on at byte ${size}` }],
});

/** The headers of a stored blob. */
function toStoredHeaders(at: ImageAt, digest: string) {
  return {
    Location: `${toImagePath(at)}/blobs/${digest}`,
    "Docker-Content-Digest": digest,
  };
}

/** The headers of a stored manifest. `OCI-Subject` tells that the list of referrers has it. */
export function toPublishedHeaders(at: ImageAt, { digest, subject }: ContainerManifest) {
  return {
    Location: `${toImagePath(at)}/manifests/${digest}`,
    "Docker-Content-Digest": digest,
    ...(subject === undefined ? {} : { "OCI-Subject": subject }),
  };
}

/** Converts an image for its page and the command line. */
export function toImageView(
  {
    owner,
    manifest,
    tags,
  }: {
    readonly owner: ForgeUser;
    readonly manifest: ContainerManifest;
    readonly tags: readonly string[];
  },
  { name, version }: { readonly name: string; readonly version: string },
  urls: ForgeUrls,
): WireContainerImage {
  const { host } = new URL(toUrl(urls, "/"));
  const { digest, mediaType, artifactType, summary } = manifest;
  return {
    digest,
    media_type: mediaType,
    artifact_type: artifactType,
    size: summary.size,
    platforms: [...summary.platforms],
    labels: { ...summary.labels },
    tags: [...tags],
    reference: `${host}/${owner.lowerName}/${name}${isDigestVersion(version) ? "@" : ":"}${version}`,
  };
}
