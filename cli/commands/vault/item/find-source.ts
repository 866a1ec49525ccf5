import type { getItemDetail as getItemDetailEndpoint } from "../../../../daemon/contract/vault/cloud-items.ts";
import type { ByteDownload } from "../../../client/bytes.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import type { CliErrorCode } from "../../../exit-codes.ts";
import { createItemFinder, type FoundItem, type ItemFinder } from "../find-item.ts";
import { type ItemAddress, toItemAddress } from "../item-address.ts";
import { downloadItem, type ItemSource } from "./save-item.ts";

export const getItemDetail = operation<typeof getItemDetailEndpoint>(
  "vault.cloud.items.view",
  "GET",
  "/api/cloud/connections/:connection_id/items/**:item_id/detail",
);

/**
 * Where an address leads, with what is known of the item there. An id that was never listed may still be the
 * provider's: then `item` is undefined although the id is not empty. @throws CliError `not_found` for a path
 */
export async function findSource(
  cli: CliContext,
  finder: ItemFinder,
  address: ItemAddress,
): Promise<FoundItem> {
  return withFacts(cli, await finder.find(address));
}

async function withFacts(cli: CliContext, found: FoundItem): Promise<FoundItem> {
  if (found.id === "" || found.item !== undefined) return found;
  try {
    const { body } = await cli.client.call(getItemDetail, {
      params: { connection_id: found.connection.id, item_id: found.id },
    });
    return { ...found, item: body };
  } catch (error) {
    if (error instanceof CliError && error.code === "not_found") return found;
    throw error;
  }
}

/** Whether bytes cannot come from there: it is a folder, or the top of a connection. */
export function isFolder({ id, item }: FoundItem): boolean {
  return id === "" || item?.kind === "folder";
}

/**
 * A folder that is there, by its path or id. @throws CliError `not_found`, or `invalid_destination` for a file.
 * An id that the vault does not know is left for the daemon to refuse.
 */
export async function findFolder(
  cli: CliContext,
  finder: ItemFinder,
  word: string,
): Promise<FoundItem> {
  const found = await findSource(cli, finder, toItemAddress(word));
  if (isFolder(found) || found.item === undefined) return found;
  throw new CliError("invalid_destination", `${word} is a file`, {
    service: "vault",
    hint: 'name a folder; "croft vault item rename" gives an item another name',
  });
}

/**
 * For the `catch` of a request for an item: throws its error, in clearer words where its cause is that the vault knows no
 * item of this id. To a change the daemon says that such an item has changed.
 */
export function refusingClearly(
  cli: CliContext,
  word: string,
  found: FoundItem,
): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!(error instanceof CliError) || found.item !== undefined || found.id === "") throw error;
    if (error.code === "not_found") throw toUnknown("not_found", word, error);
    if (error.code !== "stale") throw error;
    const known = await withFacts(cli, found).catch(() => undefined);
    const isUnknown = known !== undefined && known.item === undefined;
    throw isUnknown ? toUnknown("not_found", word, error) : error;
  };
}

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
    const opened = await cli.client.download(downloadItem, { params });
    return { params, name: nameOf(opened, id), size: opened.size ?? null, opened };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    // The provider's refusal of what it does not know is not told from one of its bad days.
    const isUnknown = error.code === "not_found" || error.code === "provider_failed";
    if (!isUnknown || error.details.retryAfterSeconds !== undefined) throw error;
    throw toUnknown(error.code, word, error);
  }
}

function toUnknown(code: CliErrorCode, word: string, { message, details }: CliError): CliError {
  // Of what is not known nothing can have changed.
  const why = code === "not_found" ? "" : ` (${message})`;
  return new CliError(code, `${word} is no item that the vault knows${why}`, {
    ...details,
    hint: "items are written CONNECTION:/path or CONNECTION:ID",
  });
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
