import type { FileLock } from "../../../storage/tables/forge/repositories/file-locks.ts";
import type {
  WireBatch,
  WireBatchAction,
  WireBatchEntry,
  WireFileLock,
} from "../../contract/forge/repositories/large-files.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { type ForgeUrls, toUrl, toWireTime } from "../urls.ts";
import type { Locking } from "./locks.service.ts";
import type { OpenedLargeFile, PlannedBatch, PlannedFile } from "./large-files.service.ts";

/** The request that a batch answers. */
interface BatchRequest {
  readonly owner: string;
  readonly repo: string;
  readonly urls: ForgeUrls;
}

export function toBatchView({ files, token }: PlannedBatch, request: BatchRequest): WireBatch {
  const name = request.repo.replace(/\.git$/i, "");
  const base = toUrl(request.urls, `/${request.owner}/${name}.git/info/lfs`);
  // The client sends what it is given here, and asks its user for credentials when that is nothing.
  const credentials = token && {
    header: { Authorization: `Bearer ${token.token}` },
    expires_in: token.expiresInSeconds,
    expires_at: new Date(token.expiresAt).toISOString(),
  };
  return {
    transfer: "basic",
    hash_algo: "sha256",
    objects: files.map((file) => toEntry(file, base, credentials)),
  };
}

function toEntry(
  file: PlannedFile,
  base: string,
  credentials: Omit<WireBatchAction, "href"> | undefined,
): WireBatchEntry {
  const { oid, size, step } = file;
  if (step === "refused") return { oid, size, error: { code: file.status, message: file.reason } };
  if (step === "none") return { oid, size };
  const object = `${base}/objects/${oid}`;
  const actions =
    step === "download"
      ? { download: { href: object, ...credentials } }
      : {
          upload: { href: `${object}/${size}`, ...credentials },
          verify: { href: `${base}/verify`, ...credentials },
        };
  return { oid, size, authenticated: true, actions };
}

/** Converts a file to a download, which no browser renders. */
export function toDownload({ file, open }: OpenedLargeFile): BytesAnswer {
  return {
    status: 200,
    headers: { "Content-Security-Policy": "sandbox" },
    bytes: {
      size: file.size,
      contentType: "application/octet-stream",
      etag: file.sha256,
      lastModified: undefined,
      open,
    },
  };
}

/** Returns a number of bytes; -1, which no file has, for any other text, and undefined for none. */
export function toSize<T extends string | undefined>(
  text: T,
): T extends string ? number : number | undefined;
export function toSize(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return /^\d{1,16}$/.test(text) ? Number(text) : -1;
}

export function toLockView(lock: FileLock): WireFileLock {
  return {
    id: String(lock.id),
    path: lock.path,
    locked_at: toWireTime(lock.createdAt),
    owner: { name: lock.ownerName },
  };
}

/** Converts a new lock; the lock of a locked file is the body of a refusal. */
export function toLockAnswer({ kind, lock }: Locking) {
  const view = toLockView(lock);
  if (kind === "locked") return { status: 201, body: { lock: view } } as const;
  const message = `already locked by ${lock.ownerName}`;
  return { status: 409, body: { lock: view, message } } as const;
}

/** Converts lists of locks, and the cursor at which the next part begins. */
export function toLockPage<Name extends string>(
  lists: Readonly<Record<Name, readonly FileLock[]>>,
  nextCursor: string | undefined,
): Record<Name, WireFileLock[]> & { readonly next_cursor?: string } {
  const entries = Object.entries<readonly FileLock[]>(lists);
  const views = entries.map(([name, locks]) => [name, locks.map(toLockView)]);
  return {
    ...(Object.fromEntries(views) as Record<Name, WireFileLock[]>),
    ...(nextCursor === undefined ? {} : { next_cursor: nextCursor }),
  };
}
