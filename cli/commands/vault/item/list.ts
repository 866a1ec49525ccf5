import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { type Column, size, time } from "../../../output/cells.ts";
import { type Page, type PageSource, wholeList } from "../../../output/pages.ts";
import { listOf, shapeList } from "../../../output/spec.ts";
import {
  toItemAddress,
  createItemFinder,
  findListingFailure,
  type WireItem,
} from "../../../support/items.ts";
import { createFolderListings } from "./remote-folders.ts";
import { findSource, explainFailure } from "./lookup.ts";
import { commandDetails } from "../../../tree/command.ts";

export const listItems = commandDetails({
  args: { "<folder>": "CONNECTION:/path, or a folder's id; CONNECTION:/ is the top" },
  flags: { "--refresh": "list the folder at the provider now" },
  calls: [vault.listConnections, vault.listItems, vault.getItemDetail],
  output: listOf(vault.listItems, "items"),
  completions: { folder: "items" },
  examples: [
    ["List a folder", "croft vault item list Papers:/2026"],
    [
      "Print names and sizes",
      "croft vault item list Papers:/2026 --template '{{.name}} {{.size}}'",
    ],
  ],
  run: (cli, { folder, refresh = false }) => printFolder(cli, folder, refresh),
});

/** Prints the items of a folder, folders first; for a file, only the file. */
export async function printFolder(
  cli: CliContext,
  folder: string,
  refresh: boolean,
): Promise<void> {
  const found = await findSource(cli, createItemFinder(cli), toItemAddress(folder));
  const source =
    found.item?.kind === "file"
      ? wholeList([found.item])
      : folderPages(cli, found.connection.id, found.id, refresh);
  await cli.output.list(source, itemColumns).catch(explainFailure(cli, folder, found));
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
    // A folder that was never listed must not look empty.
    if (failure !== undefined && body.listed_at === null) throw failure;
    if (failure !== undefined)
      cli.io.note(
        `The provider could not list this folder; these are the last known items (${body.error_code ?? "failed"}).`,
      );
    if (isFirst) noteAge(cli, body.listed_at, failure !== undefined);
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

/** Tells people how old a listing is that was not just made. */
function noteAge(cli: CliContext, listedAt: string | null | undefined, isFailed: boolean): void {
  const at = Date.parse(listedAt ?? "");
  const seconds = Math.floor((cli.clock() - at) / 1000);
  if (cli.output.isMachine || Number.isNaN(at) || (seconds < FRESH_SECONDS && !isFailed)) return;
  const age = seconds < 120 ? `${seconds} seconds` : `${Math.floor(seconds / 60)} minutes`;
  cli.io.note(`Listed ${age} ago; --refresh lists the folder again.`);
}

/** A younger listing is as good as a new one. */
const FRESH_SECONDS = 10;

const largestPage = 1000;

const itemColumns: readonly Column<WireItem>[] = [
  { header: "kind", cell: ({ kind }) => kind },
  { header: "name", cell: ({ name }) => name },
  { header: "size", cell: (item) => size(item.size) },
  { header: "modified", cell: ({ modified_at: modifiedAt }) => time(modifiedAt) },
  { header: "type", cell: ({ content_type: contentType }) => contentType },
  { header: "id", cell: ({ provider_item_id: id }) => id },
];

export const listTree = commandDetails({
  args: { "<folder>": "CONNECTION:/path, or a folder's id; CONNECTION:/ is the top" },
  flags: { "--depth <levels>": { help: "how many levels to show", parse: toDepth } },
  calls: [vault.listConnections, vault.listItems, vault.listBatch, vault.getItemDetail],
  writes: false,
  output: shapeList({
    path: "string",
    depth: "integer",
    kind: "string",
    name: "string",
    size: "integer?",
    modified_at: "string?",
    provider_item_id: "string",
  }),
  completions: { folder: "items" },
  examples: [
    ["List a folder and those below it", "croft vault item tree Papers:/"],
    ["Show two levels", "croft vault item tree Papers:/ --depth 2"],
  ],
  /** Prints everything below a folder, each folder followed by its items. */
  async run(cli, { folder, depth = Number.POSITIVE_INFINITY }) {
    const found = await findSource(cli, createItemFinder(cli), toItemAddress(folder));
    const entries: TreeEntry[] = [];
    const listings = createFolderListings(cli, found.connection.id, {
      refresh: false,
      levels: depth,
    });
    if (found.item?.kind === "file") entries.push(toEntry(found.item, "", 1));
    else await walk(found.id, "", [found.id]).catch(explainFailure(cli, folder, found));
    await cli.output.list(wholeList(entries), [
      { header: "path", cell: ({ path }) => path },
      { header: "size", cell: (one) => size(one.size) },
      { header: "modified", cell: (one) => time(one.modified_at) },
    ]);

    /** `parents` are the ids of the folders from the first to the one that is read. */
    async function walk(parent: string, above: string, parents: readonly string[]): Promise<void> {
      const { items, failure } = await listings.read(parent);
      // A folder that was never listed must not look empty.
      if (failure !== undefined && items.length === 0) throw failure;
      if (failure !== undefined)
        cli.io.note(`${above === "" ? folder : above}: last known items; ${failure.message}`);
      for (const item of items) {
        const entry = toEntry(item, above, parents.length);
        const { provider_item_id: id } = item;
        entries.push(entry);
        if (item.kind !== "folder" || parents.length >= depth) continue;
        if (parents.includes(id))
          throw new CliError("unsupported", `${entry.path} contains itself`);
        await walk(id, entry.path, [...parents, id]);
      }
    }
  },
});

interface TreeEntry {
  /** Relative to the listed folder; a folder ends in a slash. */
  readonly path: string;
  readonly depth: number;
  readonly kind: string;
  readonly name: string;
  readonly size: number | null;
  readonly modified_at: string | null;
  readonly provider_item_id: string;
}

function toEntry(item: WireItem, above: string, depth: number): TreeEntry {
  return {
    path: `${above}${item.name}${item.kind === "folder" ? "/" : ""}`,
    depth,
    kind: item.kind,
    name: item.name,
    size: item.size,
    modified_at: item.modified_at,
    provider_item_id: item.provider_item_id,
  };
}

function toDepth(text: string): number {
  const depth = Number(text);
  if (Number.isInteger(depth) && depth > 0) return depth;
  throw usageError(`--depth takes a number from 1, not ${JSON.stringify(text)}`);
}
