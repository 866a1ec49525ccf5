import { z } from "zod";
import { anyoneWithin, bytes, empty, stream, wholeBytes } from "../../endpoint.ts";
import { queryText } from "../common.ts";
import { packages, packagesOfOwner } from "../../permission.ts";
import { openTo, resource } from "../resource.ts";

// The OCI distribution specification 1.1. Members are spelled as its clients read them.

const apiOnly = "docker and other clients of container registries speak it";
const gate = openTo("package");

/** The media types of manifests. */
export const containerTypes = {
  image: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
  dockerImage: "application/vnd.docker.distribution.manifest.v2+json",
  dockerIndex: "application/vnd.docker.distribution.manifest.list.v2+json",
} as const;

/** Largest manifest in bytes, as the specification recommends. */
const MANIFEST_BYTES_MAX = 4 * 1024 * 1024;

/** The body of a refusal. */
const refusal = z.object({
  errors: z.array(z.object({ code: z.string(), message: z.string() })),
});
export type WireContainerRefusal = z.output<typeof refusal>;

const refused = [400, 401, 403, 404] as const;
const reading = { refusesOnly: refused, apiOnly } as const;
const writing = { refusesOnly: [...refused, 413, 429, 507], apiOnly } as const;
const binary = stream("application/octet-stream");

/** The registry as a whole. */
export const containerRegistryEndpoints = resource(
  { name: "forge.containers", path: "/v2", gate: anyoneWithin("package"), refusal },
  ({ operation }) => ({
    pingContainers: operation({
      as: "ping",
      method: "GET",
      summary: "Whether the registry serves the caller; without a token it says how to get one",
      replies: { 200: z.object({}) },
      refusesOnly: [401, 403],
      apiOnly,
    }),
    getContainerToken: operation({
      as: "token",
      method: "GET",
      at: "token",
      summary: "Exchange a password or token for one of the registry; anonymous for public images",
      query: z.object({
        /** Such as `repository:mira/tools:pull,push`; may be repeated. */
        scope: z.union([z.string(), z.array(z.string())]).optional(),
      }),
      replies: {
        200: z.object({
          token: z.string(),
          access_token: z.string(),
          expires_in: z.int(),
          issued_at: z.string(),
        }),
      },
      refusesOnly: [401, 403, 404],
      apiOnly,
    }),
    listContainers: operation({
      as: "catalog",
      method: "GET",
      at: "_catalog",
      summary: "The names of the images that the caller may read",
      query: z.object({ n: queryText, last: queryText }),
      replies: { 200: z.object({ repositories: z.array(z.string()) }) },
      ...reading,
    }),
  }),
);

const params = z.object({ owner: z.string(), name: z.string() });

/** One image. Its name may have slashes, which are encoded when the request gets here. */
export const containerEndpoints = resource(
  {
    name: "forge.containers",
    path: "/v2/:owner/:name",
    params,
    gate,
    on: packagesOfOwner,
    refusal,
  },
  ({ operation }) => ({
    listContainerTags: operation({
      as: "tags",
      method: "GET",
      at: "tags/list",
      summary: "The tags of an image, in the order of their bytes",
      query: z.object({ n: queryText, last: queryText }),
      replies: { 200: z.object({ name: z.string(), tags: z.array(z.string()) }) },
      ...reading,
    }),
    getContainerManifest: operation({
      as: "get_manifest",
      method: "GET",
      at: "manifests/:reference",
      params: params.extend({ reference: z.string() }),
      summary: "A manifest by its tag or digest",
      replies: { 200: bytes },
      ...reading,
    }),
    putContainerManifest: operation({
      as: "put_manifest",
      method: "PUT",
      at: "manifests/:reference",
      params: params.extend({ reference: z.string() }),
      summary: "Store a manifest under a tag or its digest; all that it names must be there",
      body: wholeBytes(...Object.values(containerTypes)),
      maxBodyBytes: MANIFEST_BYTES_MAX,
      replies: { 201: empty },
      ...writing,
    }),
    deleteContainerManifest: operation({
      as: "delete_manifest",
      method: "DELETE",
      at: "manifests/:reference",
      params: params.extend({ reference: z.string() }),
      summary: "Delete a tag, or a manifest with its tags",
      replies: { 202: empty },
      ...reading,
    }),
    listContainerReferrers: operation({
      as: "referrers",
      method: "GET",
      at: "referrers/:digest",
      params: params.extend({ digest: z.string() }),
      summary: "The manifests about a manifest, such as signatures",
      query: z.object({ artifactType: queryText, last: queryText }),
      replies: { 200: bytes },
      ...reading,
    }),
    getContainerBlob: operation({
      as: "get_blob",
      method: "GET",
      at: "blobs/:digest",
      params: params.extend({ digest: z.string() }),
      summary: "A blob; ranges are served",
      replies: { 200: bytes },
      refusesOnly: [...refused, 503],
      apiOnly,
    }),
    deleteContainerBlob: operation({
      as: "delete_blob",
      method: "DELETE",
      at: "blobs/:digest",
      params: params.extend({ digest: z.string() }),
      summary: "Delete a blob that no manifest names",
      replies: { 202: empty },
      refusesOnly: [...refused, 409],
      apiOnly,
    }),
  }),
);

const uploadParams = params.extend({ upload: z.string() });

/** Uploads of blobs. */
export const containerUploadEndpoints = resource(
  {
    name: "forge.containers.uploads",
    path: "/v2/:owner/:name/blobs/uploads",
    params,
    gate: gate.change,
    on: packages("write"),
    refusal,
  },
  ({ operation }) => ({
    startContainerUpload: operation({
      as: "start",
      method: "POST",
      summary: "Begin an upload, store a blob at once, or mount one of another image",
      query: z.object({ digest: queryText, mount: queryText, from: queryText }),
      body: binary,
      replies: { 201: empty, 202: empty },
      ...writing,
    }),
    getContainerUpload: operation({
      as: "status",
      method: "GET",
      at: ":upload",
      params: uploadParams,
      summary: "How much of an upload has arrived",
      replies: { 204: empty },
      ...reading,
    }),
    appendContainerUpload: operation({
      as: "append",
      method: "PATCH",
      at: ":upload",
      params: uploadParams,
      summary: "Add bytes at the end of an upload",
      body: binary,
      replies: { 202: empty, 416: refusal },
      ...writing,
    }),
    completeContainerUpload: operation({
      as: "complete",
      method: "PUT",
      at: ":upload",
      params: uploadParams,
      summary: "Complete an upload, with its last bytes or without more of them",
      query: z.object({ digest: queryText }),
      body: binary,
      replies: { 201: empty, 416: refusal },
      ...writing,
    }),
    cancelContainerUpload: operation({
      as: "cancel",
      method: "DELETE",
      at: ":upload",
      params: uploadParams,
      summary: "Cancel an upload",
      replies: { 204: empty },
      ...reading,
    }),
  }),
);

/** What croft knows of an image, for its page and the command line. */
const imageShape = z.object({
  digest: z.string(),
  media_type: z.string(),
  artifact_type: z.string(),
  /** Bytes of the manifest and of all that it names. */
  size: z.int(),
  /** Such as `linux/arm64`. */
  platforms: z.array(z.string()),
  labels: z.record(z.string(), z.string()),
  /** Every tag of this manifest. */
  tags: z.array(z.string()),
  /** What `docker pull` takes. */
  reference: z.string(),
});
export type WireContainerImage = z.output<typeof imageShape>;

export const containerImageEndpoints = resource(
  {
    name: "forge.packages.container",
    path: "/api/v1/packages/:owner/container/:name/:version/image",
    params: z.object({ owner: z.string(), name: z.string(), version: z.string() }),
    gate: gate.read,
    on: packages("read"),
  },
  ({ operation }) => ({
    getContainerImage: operation({
      as: "image",
      method: "GET",
      summary: "The image of a tag or digest: its size, platforms, labels and tags",
      replies: { 200: imageShape },
    }),
  }),
);
