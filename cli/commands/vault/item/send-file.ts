import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { TransferProgress } from "./transfer.ts";
import { parseJson } from "../../../support/json.ts";
import type { WireItem } from "../../../support/items.ts";

/** An uploaded item, as the vault returns it. */
export interface Uploaded {
  readonly kind: string;
  readonly provider_item_id: string;
  readonly name: string;
  readonly parent_ref: string | null;
  readonly size: number;
  /** Of the stored version, without quotes; null or undefined where the storage has none. */
  readonly etag?: string | null | undefined;
}

/** The upload of one file to a folder. */
export interface FileUpload {
  /** A path, or `-` for standard input. */
  readonly source: string;
  /** The id is empty for the root of the connection. */
  readonly folder: { readonly connectionId: string; readonly id: string };
  readonly filename: string;
}

/** The content of an upload. */
export interface Content {
  /** Undefined when the size is unknown until the end. */
  readonly size: number | undefined;
  readonly canRestart: boolean;
  open(): Readable;
  /** Releases resources that would keep the process waiting after a failed upload. */
  readonly close?: () => void;
}

/** Uploads one file. Never overwrites: a taken name is `name_collision`. `signal` cancels this upload alone. */
export async function uploadFile(
  cli: CliContext,
  { source, folder, filename }: FileUpload,
  progress: TransferProgress,
  signal?: AbortSignal,
): Promise<Uploaded> {
  const place = { folder, filename, contentType: "application/octet-stream" };
  return uploadContent(cli, place, await openSource(cli, source), progress, signal);
}

/** Uploads content from any source. */
export async function uploadContent(
  cli: CliContext,
  { folder, filename, contentType }: Omit<FileUpload, "source"> & { readonly contentType: string },
  file: Content,
  progress: TransferProgress,
  signal?: AbortSignal,
): Promise<Uploaded> {
  progress.begin(file.size);
  const sending = cli.client.upload(
    vault.uploadItem,
    { params: { connection_id: folder.connectionId } },
    {
      fields: { parent_ref: folder.id, filename },
      fileField: "file",
      filename,
      contentType,
      size: file.size,
      canRestart: file.canRestart,
      open: () => destroyedBy(signal, file.open()),
      onProgress: progress.update,
    },
  );
  const { body, headers } = await sending.finally(() => file.close?.());
  if (body.kind !== "uploaded")
    throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
  return { ...body, etag: toEtag(headers) };
}

/** The etag of the stored version in a response. */
function toEtag(headers: Readonly<Record<string, unknown>>): string | undefined {
  return /^"(.*)"$/.exec(String(headers["etag"] ?? ""))?.[1];
}

function destroyedBy(signal: AbortSignal | undefined, stream: Readable): Readable {
  const destroy = () => stream.destroy(signal?.reason as Error);
  signal?.addEventListener("abort", destroy, { once: true });
  return stream;
}

/** Reads the metadata of a local file; `-` is standard input. @throws CliError `file_error` */
export async function openSource(cli: CliContext, source: string): Promise<Content> {
  if (source === "-") {
    const { stdin } = cli.system;
    const close = () => void stdin.destroy();
    return { size: undefined, canRestart: false, open: () => stdin, close };
  }
  const path = resolve(cli.system.workingDirectory, source);
  const found = await stat(path).catch((error: unknown) => {
    throw fileError(source, error);
  });
  if (found.isDirectory()) throw new CliError("file_error", `${source} is a folder`);
  // A pipe or device has no length, and can be read only once.
  if (!found.isFile())
    return {
      size: undefined,
      canRestart: false,
      open: () => Readable.from(readAll(path), { objectMode: false }),
    };
  return { size: found.size, canRestart: true, open: () => openExactly(path, source, found.size) };
}

/** Opens the file on the first read, so that errors reach the reader. */
async function* readAll(path: string): AsyncGenerator<Uint8Array> {
  for await (const chunk of createReadStream(path)) yield chunk as Uint8Array;
}

/** Large reads wake the daemon less often. */
const READ_BYTES = 512 * 1024;

/** Limits a file to its size at the start: growth is ignored, a file that shrinks fails. */
function openExactly(path: string, source: string, length: number): Readable {
  async function* read() {
    let bytes = 0;
    // An empty file is opened as well, since reading it may be forbidden.
    for await (const chunk of createReadStream(path, {
      end: Math.max(0, length - 1),
      highWaterMark: READ_BYTES,
    })) {
      if (length === 0) return;
      bytes += (chunk as Uint8Array).byteLength;
      yield chunk as Uint8Array;
    }
    if (bytes < length)
      throw new CliError("file_error", `${source} became shorter while it was read`);
  }
  return Readable.from(read(), { objectMode: false });
}

export function fileError(source: string, error: unknown): CliError {
  const { code } = error as NodeJS.ErrnoException;
  // Node decodes arguments as UTF-8 and puts this character in the place of every other byte.
  const isUnreadable = code === "ENOENT" && source.includes("\ufffd");
  if (isUnreadable)
    return new CliError("file_error", `${source}: the name is not valid UTF-8`, {
      hint: "rename the file, or upload its bytes from standard input: - instead of the name",
      cause: error,
    });
  const reason = code === "ENOENT" ? "there is no such file" : (error as Error).message;
  return new CliError("file_error", `${source}: ${reason}`, { cause: error });
}

/**
 * Replaces the bytes of a file with those of a local one, if it still is the version of `item`.
 * @throws CliError `stale` when it has changed; it is unchanged then
 */
export async function replaceFile(
  cli: CliContext,
  connectionId: string,
  item: Pick<WireItem, "provider_item_id" | "etag">,
  source: string,
  progress: TransferProgress,
): Promise<Uploaded> {
  return replaceContent(cli, connectionId, item, await openSource(cli, source), progress);
}

/** Replaces the bytes of a file with content from any source. */
export async function replaceContent(
  cli: CliContext,
  connectionId: string,
  item: Pick<WireItem, "provider_item_id" | "etag">,
  file: Content,
  progress: TransferProgress,
): Promise<Uploaded> {
  progress.begin(file.size);
  const { stream, headers } = await cli.client.exchange(
    vault.replaceContent,
    { params: { connection_id: connectionId, item_id: item.provider_item_id } },
    {
      contentType: "application/octet-stream",
      headers: {
        // A storage without etags cannot compare.
        "If-Match": item.etag === null ? "*" : `"${item.etag.replace(/^(?:W\/)?"|"$/g, "")}"`,
        ...(file.size === undefined ? {} : { "Content-Length": String(file.size) }),
      },
      body: () => {
        let sent = 0;
        const bytes = file.open();
        bytes.on("data", (chunk: Uint8Array) => progress.update((sent += chunk.byteLength)));
        return bytes.pause();
      },
      canRestart: file.canRestart,
    },
  );
  const body = parseJson(Buffer.concat((await Array.fromAsync(stream)) as Buffer[]));
  if ((body as Partial<Uploaded> | undefined)?.kind === "uploaded")
    return { ...(body as Uploaded), etag: toEtag(headers) };
  throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
}
