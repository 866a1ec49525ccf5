import { Option } from "commander";
import type { z } from "zod";
import type { search as searchEndpoint } from "../../../daemon/contract/vault/search.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import type { Column } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
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
  operations: [vault.search],
  output: listOf(vault.search, "items"),
  completions: { "--topic": "topics" },
  define(command, cli, run = runSearch): void {
    command
      .argument("<words...>", 'words, begin* of words, "phrases"')
      .addOption(new Option("--kind <kind>", "only documents, or only items").choices(kinds))
      .option("--topic <name>", "only of this topic")
      .option("--connection <id>", "only in this connection")
      .option("--type <type>", "only of this media type, such as application/pdf")
      .option("--from <time>", "only texts that changed at this time or later")
      .option("--to <time>", "only texts that changed before this time")
      .option("--semantic", "find texts that are near in meaning, too; needs an AI provider")
      .action((words: readonly string[], flags: Omit<SearchOptions, "words">) =>
        run(cli, { words: words.join(" "), ...flags }),
      );
  },
} satisfies CommandModule;

type Result = z.output<(typeof searchEndpoint)["replies"][200]>["items"][number];

const columns: readonly Column<Result>[] = [
  { header: "kind", cell: ({ kind }) => kind },
  { header: "name", cell: ({ document, item }) => document?.filename ?? item?.name },
  { header: "passage", cell: ({ snippet }) => snippet.text },
  { header: "id", cell: ({ document, item }) => document?.id ?? item?.provider_item_id },
];

/** Prints documents and analysed items that have all of the words, best first; with `--semantic` also similar texts. */
async function runSearch(cli: CliContext, options: SearchOptions): Promise<void> {
  const { words, connection, type, from, to, semantic, ...rest } = options;
  const query = {
    ...rest,
    q: words,
    ...(semantic === true ? { semantic: "true" as const } : {}),
    ...(connection === undefined ? {} : { connection_id: connection }),
    ...(type === undefined ? {} : { content_type: type }),
    ...(from === undefined ? {} : { from: toTime("--from", from) }),
    ...(to === undefined ? {} : { to: toTime("--to", to) }),
  };
  await cli.output.list(vaultPages(cli.client, vault.search, { query }), columns);
}

/** A time as people write it, as the API takes it. */
function toTime(flag: string, given: string): string {
  const at = Date.parse(given);
  if (Number.isNaN(at))
    throw usageError(`${flag} takes a time such as 2026-11-20 or 2026-11-20T09:30:00Z`);
  return new Date(at).toISOString();
}
