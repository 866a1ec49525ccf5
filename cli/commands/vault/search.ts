import { Option } from "commander";
import type { z } from "zod";
import type { search as searchEndpoint } from "../../../daemon/contract/vault/search.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import type { Column } from "../../output/cells.ts";
import type { Page } from "../../output/pages.ts";
import { listOf } from "../../output/spec.ts";
import { pickConnection, readConnections } from "../../support/connection.ts";
import type { CommandModule } from "../../tree/entry.ts";

const kinds = ["document", "item"] as const;

export interface SearchOptions {
  readonly words: string;
  readonly kind?: (typeof kinds)[number];
  readonly topic?: string;
  readonly connection?: string;
  readonly type?: string;
  readonly from?: string;
  readonly to?: string;
  readonly semantic?: true;
}

export const search = {
  operations: [vault.listConnections, vault.search],
  output: listOf(vault.search, "items"),
  completions: { "--topic": "topics", "--connection": "connections" },
  define(command, cli, run = runSearch): void {
    command
      .argument("<words...>", 'words, begin* of words, "phrases"')
      .addOption(new Option("--kind <kind>", "only documents, or only items").choices(kinds))
      .option("--topic <name>", "only of this topic")
      .option("--connection <name>", "only in this connection, by its name or id")
      .option("--type <type>", "only of this media type, such as application/pdf")
      .option("--from <time>", "only texts that changed at this time or later: RFC 3339, or a day")
      .option("--to <time>", "only texts that changed before this time, or before this day begins")
      .option("--semantic", "also find texts with a similar meaning; needs an AI provider")
      .action((words: readonly string[], flags: Omit<SearchOptions, "words">) =>
        run(cli, { words: words.join(" "), ...flags }),
      );
  },
} satisfies CommandModule;

type Result = z.output<(typeof searchEndpoint)["replies"][200]>["items"][number];

/** Columns of the results. The id of an item includes its connection, as other commands expect it. */
const toColumns = (names: ReadonlyMap<string, string>): readonly Column<Result>[] => [
  { header: "kind", cell: ({ kind }) => kind },
  { header: "name", cell: ({ document, item }) => document?.filename ?? item?.name },
  {
    header: "passage",
    cell: ({ snippet }) => snippet.text,
    bold: ({ snippet: { text, marks } }) => marks.map(([start, end]) => text.slice(start, end)),
  },
  {
    header: "id",
    cell: ({ document, item }) =>
      item === null
        ? document?.id
        : `${names.get(item.connection_id) ?? item.connection_id}:${item.provider_item_id}`,
  },
];

/** Prints documents and analysed items that have all of the words, best first; with `--semantic` also similar texts. */
async function runSearch(cli: CliContext, options: SearchOptions): Promise<void> {
  const { words, connection, type, from, to, semantic, ...rest } = options;
  const selected =
    connection === undefined ? undefined : pickConnection(await readConnections(cli), connection);
  const query = {
    ...rest,
    q: words,
    ...(semantic === true ? { semantic: "true" as const } : {}),
    ...(selected === undefined ? {} : { connection_id: selected.id }),
    ...(type === undefined ? {} : { content_type: type }),
    ...(from === undefined ? {} : { from: toTime("--from", from) }),
    ...(to === undefined ? {} : { to: toTime("--to", to) }),
  };
  const names = new Map<string, string>();
  const source = vaultPages(cli.client, vault.search, { query });
  /** Reads the names of the connections with the first page that has an item. */
  const named = async (page: Page<Result>) => {
    if (names.size === 0 && page.items.some(({ item }) => item !== null))
      for (const { id, display_name: name } of await readConnections(cli)) names.set(id, name);
    return page;
  };
  await cli.output.list(
    {
      first: async (pageRequest) => named(await source.first(pageRequest)),
      next: async (page) => named(await source.next(page)),
    },
    toColumns(names),
  );
}

/** Converts a typed time to RFC 3339. */
function toTime(flag: string, value: string): string {
  const at = Date.parse(value);
  if (Number.isNaN(at))
    throw usageError(`${flag} takes a time such as 2026-11-20 or 2026-11-20T09:30:00Z`);
  return new Date(at).toISOString();
}
