import { vault } from "../../../../client/operations.ts";
import type { ByteDownload } from "../../../../client/bytes.ts";
import type { CliContext } from "../../../../context.ts";
import { CliError } from "../../../../errors.ts";
import { type Part, toTag } from "./part-file.ts";

/** An item whose bytes are wanted. */
export interface ItemSource {
  readonly params: { readonly connection_id: string; readonly item_id: string };
  /** For messages. */
  readonly name: string;
  /** Its bytes, where they had to be asked for already. */
  readonly opened?: ByteDownload;
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
    cli.client.download(vault.downloadItem, { params }, { headers, signal });
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

/** A connection that breaks off again and again. */
export function toBrokenOff(name: string, bytes: number, total: number | undefined): CliError {
  const of = total === undefined ? "" : ` of ${total}`;
  return new CliError("provider_failed", `${name}: it breaks off after ${bytes}${of} bytes`, {
    service: "vault",
  });
}
