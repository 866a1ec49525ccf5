import type { ByteDownload } from "../../../client/bytes.ts";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError, usageError } from "../../../errors.ts";
import { toItemAddress, createItemFinder, type FoundItem } from "../../../support/items.ts";
import { findSource, isFolder, toUnknown } from "./lookup.ts";
import { type Part, toTag } from "./local-files.ts";
import type { TransferProgress } from "./transfer.ts";

/**
 * Streams the bytes of an item to `write` and returns their number. Resumes after a lost connection. @throws CliError
 * `stale` when the item has changed meanwhile: versions are never mixed
 */
export async function streamItem(
  cli: CliContext,
  source: ItemSource,
  write: (chunk: Uint8Array) => Promise<unknown>,
  shown?: TransferProgress,
): Promise<number> {
  const { name, opened } = source;
  let begun: OpenedDownload =
    opened === undefined ? await begin(cli, source, undefined, cli.signal) : toOpened(opened);
  const { tag } = begun;
  shown?.begin(begun.total);
  let bytes = 0;
  for (let failedAttempts = 1; ; failedAttempts++) {
    const before = bytes;
    const { total } = begun;
    try {
      for await (const chunk of begun.download.stream) {
        await write(chunk as Uint8Array);
        bytes += (chunk as Uint8Array).byteLength;
        shown?.update(bytes);
      }
      if (total === undefined || bytes === total) return bytes;
    } catch (error) {
      cli.signal.throwIfAborted();
      if (toCliError(error).code !== "daemon_unreachable") throw error;
    } finally {
      begun.download.stream.destroy();
    }
    if (bytes > before) failedAttempts = 0;
    if (tag === undefined || failedAttempts >= maxFailedAttempts)
      throw toInterrupted(name, bytes, total);
    await cli.system.sleep(pauseMs, cli.signal);
    begun = await begin(cli, source, { path: "", tag, size: bytes }, cli.signal);
    if (begun.tag === tag && begun.at === bytes) continue;
    begun.download.stream.destroy();
    throw new CliError("stale", `${name} was changed while it was read`, { service: "vault" });
  }
}

/** Returns the text of an item. @throws CliError `unsupported` when it is longer than `bytesMax` */
export async function readRemoteText(
  cli: CliContext,
  source: ItemSource,
  bytesMax: number,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  await streamItem(cli, source, async (chunk) => {
    bytes += chunk.byteLength;
    if (bytes > bytesMax)
      throw new CliError("unsupported", `${source.name} is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString("utf8");
}

/** A file to download. `name` is the file's own name. */
export interface FileSource extends ItemSource {
  readonly size: number | null;
}

/** The file that a word names. @throws CliError `usage` for a folder */
export async function openFile(cli: CliContext, word: string): Promise<FileSource> {
  const found = await findSource(cli, createItemFinder(cli), toItemAddress(word));
  if (isFolder(found)) throw usageError(`${word} is a folder`, "only files have bytes");
  return toFile(cli, word, found);
}

/**
 * Returns the source of a found file. For an item without recorded metadata, the download starts at once, because only
 * the response has the name.
 */
export async function toFile(
  cli: CliContext,
  word: string,
  { connection, id, item }: FoundItem,
): Promise<FileSource> {
  const params = { connection_id: connection.id, item_id: id };
  if (item !== undefined) return { params, name: item.name, size: item.size };
  try {
    const opened = await cli.client.download(vault.downloadItem, { params });
    return { params, name: nameOf(opened, id), size: opened.size ?? null, opened };
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== "not_found") throw error;
    throw toUnknown(error.code, word, error);
  }
}

/** The name in `Content-Disposition`, else the last part of the id. */
function nameOf({ headers }: ByteDownload, id: string): string {
  const disposition = headers["content-disposition"];
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(String(disposition ?? ""))?.[1];
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded);
  } catch {
    // Not percent-encoding: the id will do.
  }
  return id.split("/").at(-1) ?? id;
}

/** An item to download. */
export interface ItemSource {
  readonly params: { readonly connection_id: string; readonly item_id: string };
  /** For messages. */
  readonly name: string;
  /** The download, where it had to be started already. */
  readonly opened?: ByteDownload;
}

/** Maximum number of consecutive attempts without progress. */
export const maxFailedAttempts = 3;

/** The pause between an interrupted attempt and the next one. */
export const pauseMs = 500;

/** An open download. */
export interface OpenedDownload {
  readonly download: ByteDownload;
  /** The offset of the first byte in the file. */
  readonly at: number;
  /** Of the whole file. */
  readonly total: number | undefined;
  readonly tag: string | undefined;
}

/**
 * Requests the bytes after the part, if the version is still the same; otherwise the whole file. With `isLarge`, the
 * caller reads `raw` of the download if present.
 */
export async function begin(
  cli: CliContext,
  { params }: ItemSource,
  part: Part | undefined,
  signal: AbortSignal,
  isLarge = false,
): Promise<OpenedDownload> {
  const ask = (headers: Readonly<Record<string, string>>) =>
    cli.client.download(vault.downloadItem, { params }, { headers, signal, isLarge });
  if (part?.tag === undefined || part.size === 0) return toOpened(await ask({}));
  const headers = { Range: `bytes=${part.size}-`, "If-Range": `"${part.tag}"` };
  try {
    const begun = toOpened(await ask(headers));
    const isRest = begun.at === part.size && begun.tag === part.tag;
    if (begun.download.status !== 206 || isRest) return begun;
    begun.download.stream.destroy();
  } catch (error) {
    // 416: the part is complete.
    if (!(error instanceof CliError) || error.details.httpStatus !== 416) throw error;
  }
  return toOpened(await ask({}));
}

/** Returns the range of a response. */
export function toOpened(download: ByteDownload): OpenedDownload {
  const tag = toTag(download.headers["etag"]);
  if (download.status !== 206) return { download, at: 0, total: download.size, tag };
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(String(download.headers["content-range"] ?? ""));
  return { download, at: Number(range?.[1] ?? -1), total: Number(range?.[2] ?? -1), tag };
}

/** Returns the error for a connection that repeatedly closes early. */
export function toInterrupted(name: string, bytes: number, total: number | undefined): CliError {
  const of = total === undefined ? "" : ` of ${total}`;
  return new CliError("provider_failed", `${name}: the stream ended after ${bytes}${of} bytes`, {
    service: "vault",
  });
}
