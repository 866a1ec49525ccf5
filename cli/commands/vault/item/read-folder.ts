import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import type { CliError } from "../../../errors.ts";
import { findListingFailure, type WireItem } from "../find-item.ts";

/** Everything in a folder. */
export interface FolderContent {
  readonly items: readonly WireItem[];
  /** Why the provider could not list it; then the items are the last known ones. */
  readonly failure: CliError | undefined;
}

/** Reads a folder with all its pages. `refresh` lists it at the provider, however fresh the last listing is. */
export async function readFolder(
  cli: CliContext,
  connectionId: string,
  parent: string,
  refresh: boolean,
): Promise<FolderContent> {
  const items: WireItem[] = [];
  let failure: CliError | undefined;
  let cursor: string | undefined;
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
