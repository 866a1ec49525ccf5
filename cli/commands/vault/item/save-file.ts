import { constants, existsSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RawBody } from "../../../client/raw-download.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError } from "../../../errors.ts";
import type { CliErrorCode } from "../../../exit-codes.ts";
import type { LocalFiles, Part } from "./local-files.ts";
import { toPartPath } from "../../../support/file-names.ts";
import { toOwnerMark } from "../../../support/part-files.ts";
import { assertFree } from "../../../support/save-stream.ts";
import {
  begin,
  type OpenedDownload,
  maxFailedAttempts,
  type ItemSource,
  pauseMs,
  toOpened,
  toInterrupted,
} from "./receive-file.ts";

/** The target of a download. */
interface SaveTarget {
  /** Absolute. */
  readonly path: string;
  readonly mayReplace: boolean;
  /** Called when the file is complete, before it replaces what has its name. When it throws, that stays as it is. */
  readonly assertReplaced?: () => Promise<void>;
  readonly files: LocalFiles;
  /** Stops this download alone. */
  readonly signal?: AbortSignal;
  /**
   * Called when the first bytes arrive; `total` is undefined when the size is unknown, `from` is the number of bytes
   * that the part already has.
   */
  readonly onBegin: (total: number | undefined, from: number) => void;
  /** Receives the total number of bytes written so far. */
  readonly onProgress: (bytes: number) => void;
}

/**
 * Writes an item to a file, and resolves to its size. The file appears under its name when it is complete. Until then
 * its bytes are in a part file. A part of an earlier run is resumed if the item has the same version, and so is one
 * whose connection closes early. When the download fails, the part is kept for the next run, unless it is so small that
 * starting over costs nothing. @throws CliError `conflict` when the file exists
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
    part = source.opened === undefined ? await claimPart(cli, target) : undefined;
    let { opened } = source;
    let furthest = 0;
    for (let failedAttempts = 1; ; failedAttempts++) {
      const begun: OpenedDownload =
        opened === undefined ? await begin(cli, source, part, signal, true) : toOpened(opened);
      opened = undefined;
      const { tag, at, total } = begun;
      const earlier = part;
      const isSame = earlier !== undefined && tag !== undefined && earlier.tag === tag;
      part = { path: isSame ? earlier.path : toOwnPart(cli, path, tag), tag, size: at };
      // The item has changed, so the part of the old version is useless.
      if (earlier !== undefined && !isSame) await rm(earlier.path, { force: true });
      target.onBegin(total, at);
      const size = await write(begun, part.path, signal, target.onProgress);
      if (size.isWhole) {
        await target.assertReplaced?.();
        await files.put(part.path, path, mayReplace);
        return size.bytes;
      }
      part = { ...part, size: size.bytes };
      if (tag !== undefined && size.bytes > furthest) {
        furthest = size.bytes;
        failedAttempts = 0;
      } else if (tag === undefined) await rm(part.path, { force: true });
      if (failedAttempts >= maxFailedAttempts) throw toInterrupted(source.name, size.bytes, total);
      await cli.system.sleep(pauseMs, signal);
    }
  } catch (error) {
    source.opened?.stream.destroy();
    // A single download that was cancelled keeps no part.
    const isDiscarded = target.signal?.aborted === true || useless.has(toCliError(error).code);
    if (part !== undefined) await leave(part, target, isDiscarded);
    throw error;
  }
}

/**
 * Writes bytes that are in memory to a new file. It appears under its name when it is complete. @throws CliError
 * `conflict` when the file exists
 */
export async function saveBytes(
  cli: CliContext,
  bytes: Uint8Array,
  {
    path,
    mayReplace,
    assertReplaced,
    files,
  }: Pick<SaveTarget, "path" | "mayReplace" | "assertReplaced" | "files">,
): Promise<void> {
  if (!mayReplace) await assertFree(path);
  await files.parts.sweep(path, cli.system);
  const part = toPartPath(path, toOwnerMark(cli.system));
  try {
    await writeFile(part, bytes, { flag: "wx", mode: 0o666 });
    await assertReplaced?.();
    await files.put(part, path, mayReplace);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/**
 * Writes the bytes at their offsets until they end or the connection closes early. Never truncates the file first: it may
 * be the part of an earlier run.
 */
async function write(
  { download, at, total }: OpenedDownload,
  path: string,
  signal: AbortSignal,
  onProgress: SaveTarget["onProgress"],
): Promise<{ readonly isWhole: boolean; readonly bytes: number }> {
  let bytes = at;
  const flags = constants.O_WRONLY | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
  const file = await open(path, flags, 0o666).catch((error: unknown) => {
    download.stream.destroy();
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // The name of the part file would mean nothing to a user. Some file systems refuse to create files in this way too.
    if (existsSync(dirname(path)))
      throw new CliError("file_error", `${dirname(path)}: no file can be created in this folder`, {
        hint: "name another folder with --output",
        cause: error,
      });
    throw new CliError("file_error", `${dirname(path)}: there is no such folder`, {
      hint: "create it first, or name another one",
      cause: error,
    });
  });
  const note = (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    onProgress(bytes);
  };
  try {
    if (download.raw === undefined) await writeStream(download.stream, file, at, signal, note);
    else await writeRaw(download.raw, file, at, note);
  } catch (error) {
    signal.throwIfAborted();
    if (toCliError(error).code !== "daemon_unreachable") throw error;
    return { isWhole: false, bytes: (await stat(path)).size };
  }
  const { size } = await stat(path);
  if (size === bytes && (total === undefined || bytes === total)) return { isWhole: true, bytes };
  // Longer than the file can be, so its content cannot be trusted.
  if (size > bytes) await rm(path, { force: true });
  return { isWhole: false, bytes: size > bytes ? 0 : size };
}

/** Writes the parts of a body and closes the file. */
async function writeRaw(
  raw: RawBody,
  file: FileHandle,
  at: number,
  note: (part: Uint8Array) => void,
): Promise<void> {
  let position = at;
  try {
    await raw.pipeTo(async (part) => {
      for (let from = 0; from < part.byteLength;) {
        const { bytesWritten } = await file.write(part, from, part.byteLength - from, position);
        from += bytesWritten;
        position += bytesWritten;
      }
      note(part);
    });
  } finally {
    await file.close();
  }
}

/** Writes the chunks of a stream and closes the file. */
async function writeStream(
  stream: Readable,
  file: FileHandle,
  at: number,
  signal: AbortSignal,
  note: (chunk: Uint8Array) => void,
): Promise<void> {
  const sink = file.createWriteStream({ start: at, highWaterMark: WRITE_AHEAD_BYTES });
  const closed = new Promise((resolve) => sink.once("close", resolve));
  stream.on("data", note);
  try {
    await pipeline(stream, sink, { signal });
  } catch (error) {
    await closed;
    throw error;
  }
}

/** Maximum number of bytes that are buffered while the disk is busy; then they are written together. */
const WRITE_AHEAD_BYTES = 4 * 1024 * 1024;

/** Returns the path of a part file that only this process writes to. */
function toOwnPart({ system }: CliContext, path: string, tag: string | undefined): string {
  return toPartPath(path, `${tag ?? ""}${toOwnerMark(system)}`);
}

/** Claims the newest part of an earlier run for this process; undefined without one, and when another process claimed it first. */
async function claimPart(cli: CliContext, { path, files }: SaveTarget): Promise<Part | undefined> {
  const found = await files.parts.find(path, cli.system);
  if (found === undefined) return undefined;
  const own = toOwnPart(cli, path, found.tag);
  try {
    await rename(found.path, own);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return { ...found, path: own };
}

/** Smaller parts are removed: downloading them again takes a second or two. */
const worthKeepingBytes = 1024 * 1024;

/** Failures after which the part is removed: a retry would fail again, or the disk is full. */
const useless: ReadonlySet<CliErrorCode> = new Set(["conflict", "file_error", "storage_full"]);

/** Keeps a part for another run, under the name without its owner, or removes it. */
async function leave(part: Part, { path, files }: SaveTarget, isDiscarded: boolean): Promise<void> {
  const found = await stat(part.path).catch(() => undefined);
  if (found === undefined) return;
  if (isDiscarded || part.tag === undefined || found.size < worthKeepingBytes)
    return rm(part.path, { force: true });
  const kept = toPartPath(path, part.tag);
  await rename(part.path, kept);
  files.resumableParts.add(kept);
}
