import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { downloadItem as downloadItemEndpoint } from "../../../../daemon/contract/vault/cloud-items.ts";
import type { ByteDownload } from "../../../client/bytes.ts";
import { operation } from "../../../client/operation.ts";
import { CliError } from "../../../errors.ts";

export const downloadItem = operation<typeof downloadItemEndpoint>(
  "vault.cloud.items.download",
  "GET",
  "/api/cloud/connections/:connection_id/items/**:item_id/download",
);

/** Where the bytes of an item go. */
export interface SaveTarget {
  /** For messages. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly mayReplace: boolean;
  readonly signal: AbortSignal;
  /** Told how many bytes are there in all. */
  readonly onProgress: (bytes: number) => void;
}

/**
 * Writes a download to a file, and resolves to its size. It appears under its name when it is whole: until then it is
 * called `NAME.part`, which is removed when the download fails. @throws CliError `conflict` when the file is there
 */
export async function saveDownload(
  download: ByteDownload,
  { name, path, mayReplace, signal, onProgress }: SaveTarget,
): Promise<number> {
  const part = `${path}.part`;
  let bytes = 0;
  try {
    if (!mayReplace) await assertFree(path);
    const count = new Transform({
      transform(chunk: Uint8Array, _encoding, done) {
        bytes += chunk.byteLength;
        onProgress(bytes);
        done(null, chunk);
      },
    });
    await pipeline(download.stream, count, createWriteStream(part, { mode: 0o666 }), { signal });
    if (download.size !== undefined && bytes !== download.size)
      throw new CliError(
        "unexpected_answer",
        `${name}: only ${bytes} of ${download.size} bytes came`,
      );
    await rename(part, path);
  } catch (error) {
    download.stream.destroy();
    await rm(part, { force: true });
    throw error;
  }
  return bytes;
}

async function assertFree(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined)
    throw new CliError("conflict", `${path} exists`, { hint: "--force replaces it" });
}
