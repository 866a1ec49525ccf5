import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { type Column, size, time } from "../../../output/cells.ts";
import { type Page, type PageSource, wholeList } from "../../../output/pages.ts";
import { listOf } from "../../../output/spec.ts";
import { createItemFinder, findListingFailure, type WireItem } from "../find-item.ts";
import { toItemAddress } from "../item-address.ts";
import { findSource, refusingClearly } from "./find-source.ts";

export const operations = [vault.listConnections, vault.listItems, vault.getItemDetail];
export const output = listOf(vault.listItems, "items");
export const completions = { folder: "items" } as const;

/** What the command was given. */
export interface ItemListOptions {
  readonly folder: string;
  /** List the folder at the provider, however fresh the last listing is. */
  readonly refresh: boolean;
}

export function define(command: Command, cli: CliContext, run = runItemList): void {
  command
    .argument("<folder>", "CONNECTION:/path, or a folder's id; CONNECTION:/ is the top")
    .option("--refresh", "list the folder at the provider now")
    .action((folder: string, flags: { readonly refresh?: true }) =>
      run(cli, { folder, refresh: flags.refresh === true }),
    );
}

/** Prints the items of a folder, folders first; a file is its own list. */
export async function runItemList(
  cli: CliContext,
  { folder, refresh }: ItemListOptions,
): Promise<void> {
  const found = await findSource(cli, createItemFinder(cli), toItemAddress(folder));
  const source =
    found.item?.kind === "file"
      ? wholeList([found.item])
      : folderPages(cli, found.connection.id, found.id, refresh);
  await cli.output.list(source, itemColumns).catch(refusingClearly(cli, folder, found));
}

/** The pages of a folder. They follow each other by a cursor, so a later page is reached through those before it. */
function folderPages(
  cli: CliContext,
  connectionId: string,
  parent: string,
  refresh: boolean,
): PageSource<WireItem> {
  let cursor: string | undefined;
  const read = async (limit: number | undefined, isFirst: boolean): Promise<Page<WireItem>> => {
    const { body } = await cli.client.call(vault.listItems, {
      params: { connection_id: connectionId },
      query: {
        parent_ref: parent,
        limit,
        cursor,
        refresh: refresh && isFirst ? "true" : undefined,
      },
    });
    const failure = isFirst ? findListingFailure(body) : undefined;
    // A folder that was never listed is not an empty one.
    if (failure !== undefined && body.listed_at === null) throw failure;
    if (failure !== undefined)
      cli.io.note(
        `The provider could not list this folder; these are the last known items (${body.error_code ?? "failed"}).`,
      );
    cursor = body.next_cursor ?? undefined;
    return {
      items: body.items,
      page: null,
      limit: limit ?? null,
      total: null,
      hasMore: cursor !== undefined,
    };
  };
  return {
    async first({ page = 1, limit, all }) {
      const size = limit ?? (all ? largestPage : undefined);
      let at = await read(size, true);
      for (let number = 1; number < page; number++)
        at = at.hasMore ? await read(size, false) : { ...at, items: [], hasMore: false };
      return at;
    },
    next: (last) => read(last.limit ?? undefined, false),
  };
}

const largestPage = 1000;

const itemColumns: readonly Column<WireItem>[] = [
  { header: "kind", cell: ({ kind }) => kind },
  { header: "name", cell: ({ name }) => name },
  { header: "size", cell: (item) => size(item.size) },
  { header: "modified", cell: ({ modified_at: modifiedAt }) => time(modifiedAt) },
  { header: "type", cell: ({ content_type: contentType }) => contentType },
  { header: "id", cell: ({ provider_item_id: id }) => id },
];
