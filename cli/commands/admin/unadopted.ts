import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { type PageSource, readPages } from "../../output/pages.ts";
import { listOf, unpagedList } from "../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../support/batch.ts";
import { toRepositoryName } from "../../support/repository.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List unadopted repositories", {
    aliases: ["ls"],
    args: { "[pattern]": "a glob for owners, or OWNER/NAME with globs in both parts" },
    calls: [forge.listUnadopted],
    output: listOf(forge.listUnadopted),
    examples: [
      ["List unadopted repositories", "croft admin unadopted list"],
      ["List those of one owner", "croft admin unadopted list 'mira/*'"],
    ],
    /** Prints the repositories on disk that have no database record. */
    async run(cli, { pattern }) {
      // The API lists names, not objects; they are printed unchanged.
      const names = forgePages(cli.client, forge.listUnadopted, {
        query: { query: pattern },
      }) as unknown as PageSource<object>;
      await cli.output.list(names, [{ header: "repository", cell: String }]);
    },
  }),
  command("adopt", "Adopt repositories", {
    args: { "<pattern...>": "repositories as OWNER/NAME, or globs such as 'mira/*'" },
    calls: [forge.adoptRepository, forge.listUnadopted],
    output: unpagedList({ ...resultFields, adopted: "boolean?" }),
    examples: [
      ["Adopt one repository", "croft admin unadopted adopt mira/notes"],
      ["Adopt several repositories", "croft admin unadopted adopt mira/notes mira/papers"],
    ],
    /** Adopts repositories: each becomes a private repository of its owner. */
    async run(cli, { pattern: patterns }) {
      const names = await listMatching(cli, patterns);
      const outcomes = await runBatch(
        names,
        async (name) => {
          await cli.client.call(forge.adoptRepository, { params: toRepositoryName(name) });
          return { adopted: true };
        },
        AT_ONCE,
      );
      await finishBatch(cli, outcomes, "adopted", [
        { header: "repository", cell: ({ item }) => item },
        { header: "adopted", cell: ({ error }) => error === null },
        { header: "error", cell: ({ error }) => error?.message },
      ]);
    },
  }),
  command("delete", "Delete unadopted repositories", {
    aliases: ["rm"],
    args: { "<pattern...>": "repositories as OWNER/NAME, or globs such as 'mira/*'" },
    calls: [forge.deleteUnadopted, forge.listUnadopted],
    output: unpagedList({ ...resultFields, deleted: "boolean?" }),
    destructive: true,
    examples: [
      ["Delete one unadopted repository", "croft admin unadopted delete mira/notes --yes"],
      ["Show the requests only", "croft admin unadopted delete mira/notes --dry-run"],
    ],
    /** Deletes the files of repositories without a record. The matches of a glob are confirmed first. */
    async run(cli, { pattern: patterns }) {
      const names = await listMatching(cli, patterns);
      await cli.prompts.confirm(
        names.length === 1
          ? `Delete the files of ${names[0]}?`
          : `Delete the files of ${names.length} repositories (${toExamples(names)})?`,
      );
      const outcomes = await runBatch(
        names,
        async (name) => {
          await cli.client.call(forge.deleteUnadopted, { params: toRepositoryName(name) });
          return { deleted: true };
        },
        AT_ONCE,
      );
      await finishBatch(cli, outcomes, "deleted", [
        { header: "repository", cell: ({ item }) => item },
        { header: "deleted", cell: ({ error }) => error === null },
        { header: "error", cell: ({ error }) => error?.message },
      ]);
    },
  }),
];

function toExamples(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(", ");
  return names.length > 3 ? `${shown}, …` : shown;
}

/** Concurrent adoptions or deletions. */
const AT_ONCE = 6;

/**
 * Returns the names that match the patterns, without duplicates. The server matches globs; any other text is
 * OWNER/NAME. @throws CliError `not_found` when a glob matches nothing
 */
async function listMatching(
  cli: CliContext,
  patterns: readonly string[],
): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const pattern of patterns) {
    if (!/[*?[{\\]/.test(pattern)) {
      const { owner, repo } = toRepositoryName(pattern);
      names.add(`${owner}/${repo}`);
      continue;
    }
    const found = await listAll(cli, pattern);
    if (found.length === 0)
      throw new CliError("not_found", `no unadopted repository fits ${JSON.stringify(pattern)}`);
    for (const name of found) names.add(name);
  }
  return [...names];
}

async function listAll(cli: CliContext, pattern: string): Promise<readonly string[]> {
  const source = forgePages(cli.client, forge.listUnadopted, { query: { query: pattern } });
  const found: string[] = [];
  for await (const page of readPages(source, { page: undefined, limit: undefined, all: true }))
    found.push(...page.items);
  return found;
}
