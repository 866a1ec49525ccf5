import type { z } from "zod";
import type { searchEndpoints } from "../../../daemon/contract/vault/search.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import { usageError } from "../../errors.ts";
import type { Column } from "../../output/cells.ts";
import type { Page } from "../../output/pages.ts";
import { listOf } from "../../output/spec.ts";
import { readTime } from "../../support/flag-values.ts";
import { pickConnection, readConnections } from "../../support/connection.ts";
import { commandDetails } from "../../tree/command.ts";

const kinds = ["document", "item"] as const;

export const search = commandDetails({
  args: { "<words...>": 'words, begin* of words, "phrases"' },
  flags: {
    "--kind <kind>": { help: "only documents, or only items", choices: kinds },
    "--topic <name>": "only of this topic",
    "--connection <name>": "only in this connection, by its name or id",
    "--type <type>": "only of this media type, such as application/pdf",
    "--from <time>": "only texts that changed at this time or later: RFC 3339, or a day",
    "--to <time>": "only texts that changed before this time, or before this day begins",
    "--semantic": "also find texts with a similar meaning; needs an AI provider",
  },
  calls: [vault.listConnections, vault.search],
  output: listOf(vault.search, "items"),
  completions: { "--topic": "topics", "--connection": "connections" },
  examples: [
    ["Search documents and files", "croft vault search gas bill"],
    ["Search PDF files for a phrase", "croft vault search '\"gas bill\"' --type application/pdf"],
  ],
  /** Prints documents and analysed items that have all of the words, best first; with `--semantic` also similar texts. */
  async run(cli, { words, connection, type, from, to, semantic, ...rest }) {
    const selected =
      connection === undefined ? undefined : pickConnection(await readConnections(cli), connection);
    const query = {
      ...rest,
      q: words.join(" "),
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
  },
});

type Result = z.output<(typeof searchEndpoints.search)["replies"][200]>["items"][number];

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

/** Converts a typed time to RFC 3339. */
function toTime(flag: string, value: string): string {
  const at = readTime(value);
  if (at === undefined)
    throw usageError(`${flag} takes a time such as 2026-11-20 or 2026-11-20T09:30:00Z`);
  return new Date(at).toISOString();
}
