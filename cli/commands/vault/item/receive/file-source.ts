import { vault } from "../../../../client/operations.ts";
import type { ByteDownload } from "../../../../client/bytes.ts";
import type { CliContext } from "../../../../context.ts";
import { CliError, usageError } from "../../../../errors.ts";
import { createItemFinder, type FoundItem } from "../../find-item.ts";
import { toItemAddress } from "../../item-address.ts";
import { findSource, isFolder, toUnknown } from "../find-source.ts";
import { type ItemSource } from "./item-bytes.ts";

/** A file whose bytes can be asked for. `name` is the file's own. */
export interface FileSource extends ItemSource {
  readonly size: number | null;
}

/** The file that a word names. @throws CliError `usage` for a folder */
export async function openFile(cli: CliContext, word: string): Promise<FileSource> {
  const found = await findSource(cli, createItemFinder(cli), toItemAddress(word));
  if (isFolder(found)) throw usageError(`${word} is a folder`, "only files have bytes");
  return toFile(cli, word, found);
}

/** A file that was found. One that the vault does not know is asked for at once, since only its answer tells its name. */
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
    if (!(error instanceof CliError)) throw error;
    // The provider's refusal of what it does not know is not told from one of its bad days.
    const isUnknown = error.code === "not_found" || error.code === "provider_failed";
    if (!isUnknown || error.details.retryAfterSeconds !== undefined) throw error;
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
