import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { CliErrorCode } from "../../../exit-codes.ts";
import { isSameEtag, preconditionFailed } from "../../../support/if-match.ts";
import {
  type ItemAddress,
  toItemAddress,
  findListingFailure,
  type FoundItem,
  type ItemFinder,
  type WireItem,
} from "../../../support/items.ts";

/**
 * Resolves an address to a location and the recorded metadata of its item. For an id that the vault has never listed,
 * `item` is undefined; the provider may know it. @throws CliError `not_found` for a path
 */
export async function findSource(
  cli: CliContext,
  finder: ItemFinder,
  address: ItemAddress,
): Promise<FoundItem> {
  return withMetadata(cli, await finder.find(address));
}

async function withMetadata(cli: CliContext, found: FoundItem): Promise<FoundItem> {
  if (found.id === "" || found.item !== undefined) return found;
  try {
    const { body } = await cli.client.call(vault.getItemDetail, {
      params: { connection_id: found.connection.id, item_id: found.id },
    });
    return { ...found, item: body };
  } catch (error) {
    if (error instanceof CliError && error.code === "not_found") return found;
    throw error;
  }
}

/** Whether the item is a folder or the root of a connection. */
export function isFolder({ id, item }: FoundItem): boolean {
  return id === "" || item?.kind === "folder";
}

/**
 * Finds an existing folder by its path or id. @throws CliError `not_found`, or `invalid_destination` for a file. An id
 * that the vault does not know is left for the daemon to refuse.
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
 * Returns a handler for failed requests about an item. It rethrows the error, as `not_found` if the vault does not
 * know the id: for a change, the daemon reports such an item as changed.
 */
export function explainFailure(
  cli: CliContext,
  word: string,
  found: FoundItem,
): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!(error instanceof CliError) || found.item !== undefined || found.id === "") throw error;
    if (error.code === "not_found") throw toUnknown("not_found", word, error);
    if (error.code !== "stale") throw error;
    const known = await withMetadata(cli, found).catch(() => undefined);
    const isUnknown = known !== undefined && known.item === undefined;
    throw isUnknown ? toUnknown("not_found", word, error) : error;
  };
}

/** Returns the error for an item that the vault does not know. */
export function toUnknown(
  code: CliErrorCode,
  word: string,
  { message, details }: CliError,
): CliError {
  // An item without a recorded version cannot have changed.
  const detail = code === "not_found" ? "" : ` (${message})`;
  return new CliError(code, `the vault has no item ${word}${detail}`, {
    ...details,
    hint: "items are written CONNECTION:/path or CONNECTION:ID",
  });
}

/** The items of a folder. */
export interface FolderContent {
  readonly items: readonly WireItem[];
  /** The provider's error; `items` are then from the last successful listing. */
  readonly failure: CliError | undefined;
}

/**
 * Reads a folder with all its pages, or those from `from` on. `refresh` lists it at the provider, however fresh the last
 * listing is.
 */
export async function readFolder(
  cli: CliContext,
  connectionId: string,
  parent: string,
  refresh: boolean,
  from?: string,
): Promise<FolderContent> {
  const items: WireItem[] = [];
  let failure: CliError | undefined;
  let cursor = from;
  do {
    const { body } = await cli.client.call(vault.listItems, {
      params: { connection_id: connectionId },
      query: {
        parent_ref: parent,
        limit: largestPage,
        cursor,
        refresh: refresh && cursor === undefined ? "true" : undefined,
      },
    });
    items.push(...body.items);
    failure = findListingFailure(body) ?? failure;
    cursor = body.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return { items, failure };
}

const largestPage = 1000;

/**
 * Checks a precondition against the provider's current listing, for changes that the server does not check. Returns
 * the item. @throws CliError `stale` when it is another version
 */
export async function assertVersion(
  cli: CliContext,
  word: string,
  found: FoundItem,
  etag: string,
): Promise<WireItem> {
  const { item } = await withMetadata(cli, found);
  if (item === undefined) throw preconditionFailed(word, etag);
  const now = await readCurrent(cli, found, item);
  if (now === undefined || !isSameEtag(etag, now.etag ?? "")) throw preconditionFailed(word, etag);
  return now;
}

/**
 * Returns whether a file is the version that was listed: for storages without etags, which cannot compare. Call it just before
 * the change.
 */
export async function isAsListed(
  cli: CliContext,
  connectionId: string,
  item: WireItem,
): Promise<boolean> {
  const now = await readCurrent(
    cli,
    { connection: { id: connectionId }, id: item.provider_item_id },
    item,
  );
  return now?.size === item.size && now.modified_at === item.modified_at;
}

/** Returns an item as its provider lists it at this moment; undefined when it is no longer at its place. */
export async function readCurrent(
  cli: CliContext,
  found: { readonly connection: { readonly id: string }; readonly id: string },
  item: WireItem,
): Promise<WireItem | undefined> {
  const { body } = await cli.client.call(vault.listItems, {
    params: { connection_id: found.connection.id },
    query: { parent_ref: item.parent_ref ?? "", name: item.name, refresh: "true" },
  });
  const failure = findListingFailure(body);
  if (failure !== undefined) throw failure;
  return body.items.find((one) => one.provider_item_id === found.id);
}
