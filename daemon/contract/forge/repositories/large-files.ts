import { z } from "zod";
import { resource } from "../resource.ts";
import { anyone, bytes, empty, stream } from "../../endpoint.ts";
import { wireTime } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

// Git LFS: github.com/git-lfs/git-lfs, docs/api. The permission depends on the operation in the body, so the services authorize
// the caller.

/** The content type of every request and response but those of the files. */
export const LARGE_FILES_TYPE = "application/vnd.git-lfs+json";

const apiOnly = "Git LFS itself speaks it";

const refusal = z.object({ message: z.string(), documentation_url: z.string().optional() });
const transferRefusals = {
  400: refusal,
  401: refusal,
  403: refusal,
  404: refusal,
  503: refusal,
} as const;
/** All but the transfers answer in Git LFS's own type of content only. */
const refusals = { ...transferRefusals, 415: refusal } as const;

/** How many files a request may name; the client asks for 100 at a time. */
const FILES_MAX = 1_000;
const PATH_CHARACTERS_MAX = 4_096;

/** A file: the SHA-256 of its bytes, and their number. */
const pointer = z.object({ oid: z.string(), size: z.int() });

const action = z.object({
  href: z.string(),
  header: z.record(z.string(), z.string()).optional(),
  expires_in: z.int().optional(),
  expires_at: wireTime.optional(),
});

const batchEntry = pointer.extend({
  authenticated: z.literal(true).optional(),
  actions: z
    .object({
      download: action.optional(),
      upload: action.optional(),
      verify: action.optional(),
    })
    .optional(),
  error: z.object({ code: z.int(), message: z.string() }).optional(),
});

const batch = z.object({
  transfer: z.literal("basic"),
  hash_algo: z.literal("sha256"),
  objects: z.array(batchEntry),
});

const ref = z.object({ name: z.string() }).nullish();

const fileLock = z.object({
  id: z.string(),
  path: z.string(),
  locked_at: wireTime,
  owner: z.object({ name: z.string() }),
});

const page = {
  cursor: z.string().optional(),
  limit: z.coerce.number().int().min(1).optional().catch(undefined),
};

export type WireBatch = z.input<typeof batch>;
export type WireBatchAction = z.input<typeof action>;
export type WireBatchEntry = z.input<typeof batchEntry>;
export type WireFileLock = z.input<typeof fileLock>;

export const largeFileEndpoints = resource(
  {
    name: "forge.large_files",
    path: "/:owner/:repo/info/lfs",
    params: repositoryParams,
    gate: anyone,
  },
  ({ operation }) => ({
    planLargeFiles: operation({
      as: "batch",
      method: "POST",
      at: "objects/batch",
      summary: "Where a Git LFS client uploads or downloads files",
      body: z.object({
        operation: z.enum(["upload", "download"]),
        transfers: z.array(z.string()).nullish(),
        ref,
        objects: z.array(pointer).max(FILES_MAX),
        hash_algo: z.string().nullish(),
      }),
      replies: { 200: batch, ...refusals, 409: refusal },
      refusesOnly: [],
      apiOnly,
    }),
    downloadLargeFile: operation({
      as: "download",
      method: "GET",
      at: "objects/:oid",
      params: repositoryParams.extend({ oid: z.string() }),
      summary: "The bytes of a file of Git LFS; ranges are served",
      replies: { 200: bytes, ...transferRefusals },
      refusesOnly: [],
      apiOnly,
    }),
    uploadLargeFile: operation({
      as: "upload",
      method: "PUT",
      at: "objects/:oid/:size",
      params: repositoryParams.extend({ oid: z.string(), size: z.string() }),
      summary: "Upload the bytes of a file of Git LFS",
      body: stream("application/octet-stream"),
      replies: { 200: empty, ...transferRefusals, 413: refusal, 422: refusal, 507: refusal },
      refusesOnly: [],
      apiOnly,
    }),
    verifyLargeFile: operation({
      as: "verify",
      method: "POST",
      at: "verify",
      summary: "Check that a file of Git LFS has arrived",
      body: pointer,
      replies: { 200: empty, ...refusals, 422: refusal },
      refusesOnly: [],
      apiOnly,
    }),
  }),
);

export const fileLockEndpoints = resource(
  {
    name: "forge.file_locks",
    path: "/:owner/:repo/info/lfs/locks",
    params: repositoryParams,
    gate: anyone,
  },
  ({ operation }) => ({
    listFileLocks: operation({
      as: "list",
      method: "GET",
      summary: "Locked files of a repository, oldest lock first",
      query: z.object({
        path: z.string().optional(),
        id: z.string().optional(),
        ...page,
      }),
      replies: {
        200: z.object({ locks: z.array(fileLock), next_cursor: z.string().optional() }),
        ...refusals,
      },
      refusesOnly: [],
      apiOnly,
    }),
    lockFile: operation({
      as: "create",
      method: "POST",
      summary: "Lock a file, so that others do not change it at the same time",
      body: z.object({ path: z.string().min(1).max(PATH_CHARACTERS_MAX), ref }),
      replies: {
        201: z.object({ lock: fileLock }),
        ...refusals,
        409: refusal.extend({ lock: fileLock }),
        422: refusal,
      },
      refusesOnly: [],
      apiOnly,
    }),
    verifyFileLocks: operation({
      as: "verify",
      method: "POST",
      at: "verify",
      summary: "The locks of the caller and those of others, which a push respects",
      body: z.object({ ...page, ref }),
      replies: {
        200: z.object({
          ours: z.array(fileLock),
          theirs: z.array(fileLock),
          next_cursor: z.string().optional(),
        }),
        ...refusals,
      },
      refusesOnly: [],
      apiOnly,
    }),
    unlockFile: operation({
      as: "delete",
      method: "POST",
      at: ":lock/unlock",
      params: repositoryParams.extend({ lock: z.string() }),
      summary: "Unlock a file; with force also one that another person has locked",
      body: z.object({ force: z.boolean().nullish(), ref }),
      replies: { 200: z.object({ lock: fileLock }), ...refusals },
      refusesOnly: [],
      apiOnly,
    }),
  }),
);
