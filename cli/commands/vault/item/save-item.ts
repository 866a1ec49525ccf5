import { constants } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { downloadItem as downloadItemEndpoint } from "../../../../daemon/contract/vault/cloud-items.ts";
import type { ByteDownload } from "../../../client/bytes.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError } from "../../../errors.ts";
import type { CliErrorCode } from "../../../exit-codes.ts";
import { assertFree, type LocalFiles } from "./local-files.ts";
import { type Part, toPartPath, toTag } from "./part-file.ts";

export const downloadItem = operation<typeof downloadItemEndpoint>(
  "vault.cloud.items.download",
  "GET",
  "/api/cloud/connections/:connection_id/items/**:item_id/download",
);

/** An item whose bytes are wanted. */
export interface ItemSource {
  readonly params: { readonly connection_id: string; readonly item_id: string };
  /** For messages. */
  readonly name: string;
  /** Its bytes, where they had to be asked for already. */
  readonly opened?: ByteDownload;
}

/** Where the bytes of an item go. */
export interface SaveTarget {
  /** Absolute. */
  readonly path: string;
  readonly mayReplace: boolean;
  readonly files: LocalFiles;
  /** Stops this download alone. */
  readonly signal?: AbortSignal;
  /** The bytes begin to come; `total` is undefined when nobody knows how many. `from` are there already. */
  readonly onBegin: (total: number | undefined, from: number) => void;
  /** Told how many bytes are there in all. */
  readonly onProgress: (bytes: number) => void;
}

/**
 * Writes an item to a file, and resolves to its size. The file appears under its name when it is whole. Until then its
 * bytes are in a part (part-file.ts): one that an earlier run left is gone on with if the item still is of the same
 * version, and so is one whose connection breaks off. What is left when that does not help is kept for the next run,
 * unless it is so small that beginning anew costs nothing. @throws CliError `conflict` when the file is there
 */
export async function saveItem(
  cli: CliContext,
  source: ItemSource,
  target: SaveTarget,
): Promise<number> {
  const { path, mayReplace, files } = target;
  const signal =
    target.signal === undefined ? cli.signal : AbortSignal.any([cli.signal, target.signal]);
  let part: Part | undefined;
  try {
    if (!mayReplace) await assertFree(path);
    part = source.opened === undefined ? await files.parts.find(path) : undefined;
    let { opened } = source;
    let furthest = 0;
    for (let fruitless = 1; ; fruitless++) {
      const begun: Begun =
        opened === undefined ? await begin(cli, source, part, signal) : toBegun(opened);
      opened = undefined;
      const { tag, at, total } = begun;
      const earlier = part;
      part = { path: toPartPath(path, tag ?? noTag(cli)), tag, size: at };
      // The item has changed since: what there is of the old version is of no use.
      if (earlier !== undefined && earlier.path !== part.path)
        await rm(earlier.path, { force: true });
      target.onBegin(total, at);
      const size = await write(begun, part.path, signal, target.onProgress);
      if (size.isWhole) {
        await files.put(part.path, path, mayReplace);
        return size.bytes;
      }
      part = { ...part, size: size.bytes };
      if (tag !== undefined && size.bytes > furthest) {
        furthest = size.bytes;
        fruitless = 0;
      } else if (tag === undefined) await rm(part.path, { force: true });
      if (fruitless >= fruitlessMax) throw toBrokenOff(source.name, size.bytes, total);
      await cli.system.sleep(pauseMs, signal);
    }
  } catch (error) {
    source.opened?.stream.destroy();
    // A download that was stopped alone is not wanted any more.
    const isUnwanted = target.signal?.aborted === true || useless.has(toCliError(error).code);
    if (part !== undefined) await leave(part, files, isUnwanted);
    throw error;
  }
}

/** Attempts in a row that bring no further. */
export const fruitlessMax = 3;
/** Between an attempt that broke off and the next one. */
export const pauseMs = 500;

/** Bytes that are about to come. */
export interface Begun {
  readonly download: ByteDownload;
  /** Where in the file the first of them belongs. */
  readonly at: number;
  /** Of the whole file. */
  readonly total: number | undefined;
  readonly tag: string | undefined;
}

/** Asks for what is missing behind the part, provided that it is of the same version; else for everything. */
export async function begin(
  cli: CliContext,
  { params }: ItemSource,
  part: Part | undefined,
  signal: AbortSignal,
): Promise<Begun> {
  const ask = (headers: Readonly<Record<string, string>>) =>
    cli.client.download(downloadItem, { params }, { headers, signal });
  if (part?.tag === undefined || part.size === 0) return toBegun(await ask({}));
  const headers = { Range: `bytes=${part.size}-`, "If-Range": `"${part.tag}"` };
  try {
    const begun = toBegun(await ask(headers));
    const isRest = begun.at === part.size && begun.tag === part.tag;
    if (begun.download.status !== 206 || isRest) return begun;
    begun.download.stream.destroy();
  } catch (error) {
    // 416: there is nothing behind it.
    if (!(error instanceof CliError) || error.details.httpStatus !== 416) throw error;
  }
  return toBegun(await ask({}));
}

/** Reads off an answer which bytes it brings. */
export function toBegun(download: ByteDownload): Begun {
  const tag = toTag(download.headers["etag"]);
  if (download.status !== 206) return { download, at: 0, total: download.size, tag };
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(String(download.headers["content-range"] ?? ""));
  return { download, at: Number(range?.[1] ?? -1), total: Number(range?.[2] ?? -1), tag };
}

/**
 * Writes the bytes where they belong, until they end or break off. Never cuts the file off first: two that write the
 * same version at one time write the same bytes to the same places.
 */
async function write(
  { download, at, total }: Begun,
  path: string,
  signal: AbortSignal,
  onProgress: SaveTarget["onProgress"],
): Promise<{ readonly isWhole: boolean; readonly bytes: number }> {
  let bytes = at;
  const count = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      onProgress(bytes);
      done(null, chunk);
    },
  });
  const flags = constants.O_WRONLY | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
  const file = await open(path, flags, 0o666).catch((error: unknown) => {
    download.stream.destroy();
    throw error;
  });
  const sink = file.createWriteStream({ start: at });
  const closed = new Promise((resolve) => sink.once("close", resolve));
  try {
    await pipeline(download.stream, count, sink, { signal });
  } catch (error) {
    await closed;
    signal.throwIfAborted();
    if (toCliError(error).code !== "daemon_unreachable") throw error;
    return { isWhole: false, bytes: (await stat(path)).size };
  }
  const { size } = await stat(path);
  if (size === bytes && (total === undefined || bytes === total)) return { isWhole: true, bytes };
  // Longer than the file can be: whatever wrote that, nothing of it can be relied on.
  if (size > bytes) await rm(path, { force: true });
  return { isWhole: false, bytes: size > bytes ? 0 : size };
}

/** What would be there again after a second or two is not worth a file that somebody wonders about. */
const worthKeepingBytes = 1024 * 1024;

/** Failures that another attempt would meet again, or that want the room back. */
const useless: ReadonlySet<CliErrorCode> = new Set(["conflict", "file_error", "storage_full"]);

async function leave(part: Part, files: LocalFiles, isUnwanted: boolean): Promise<void> {
  const found = await stat(part.path).catch(() => undefined);
  if (found === undefined) return;
  if (!isUnwanted && part.tag !== undefined && found.size >= worthKeepingBytes)
    files.kept.add(part.path);
  else await rm(part.path, { force: true });
}

/** A connection that breaks off again and again. */
export function toBrokenOff(name: string, bytes: number, total: number | undefined): CliError {
  const of = total === undefined ? "" : ` of ${total}`;
  return new CliError("provider_failed", `${name}: it breaks off after ${bytes}${of} bytes`, {
    service: "vault",
  });
}

/** What no tag can be, and another one each time. */
function noTag({ system }: CliContext): string {
  return `~${Buffer.from(system.random(8)).toString("hex")}`;
}
