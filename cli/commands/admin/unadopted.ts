import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { type PageSource, readPages } from "../../output/pages.ts";
import { listOf, unpagedList } from "../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../support/batch.ts";
import { toRepositoryName } from "../../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List unadopted repositories", () => listUnadopted, {
    aliases: ["ls"],
  }),
  verb("adopt", "Adopt repositories", () => adoptUnadopted),
  verb("delete", "Delete unadopted repositories", () => deleteUnadopted, {
    aliases: ["rm"],
  }),
];

interface UnadoptedListOptions {
  readonly pattern?: string;
}

export const listUnadopted = {
  operations: [forge.listUnadopted],
  output: listOf(forge.listUnadopted),
  define(command, cli, run = runUnadoptedList): void {
    command
      .argument("[pattern]", "a glob for owners, or OWNER/NAME with globs in both parts")
      .action((pattern: string | undefined) => run(cli, pattern === undefined ? {} : { pattern }));
  },
} satisfies CommandModule;

/** Prints the repositories on disk that have no database record. */
async function runUnadoptedList(cli: CliContext, { pattern }: UnadoptedListOptions): Promise<void> {
  // The API lists names, not objects; they are printed unchanged.
  const names = forgePages(cli.client, forge.listUnadopted, {
    query: { query: pattern },
  }) as unknown as PageSource<object>;
  await cli.output.list(names, [{ header: "repository", cell: String }]);
}

interface UnadoptedAdoptOptions {
  /** OWNER/NAME, or globs. */
  readonly patterns: readonly string[];
}

export const adoptUnadopted = {
  operations: [forge.adoptRepository, forge.listUnadopted],
  output: unpagedList({ ...resultFields, adopted: "boolean?" }),
  define(command, cli, run = runUnadoptedAdopt): void {
    command
      .argument("<pattern...>", "repositories as OWNER/NAME, or globs such as 'mira/*'")
      .action((patterns: readonly string[]) => run(cli, { patterns }));
  },
} satisfies CommandModule;

/** Adopts repositories: each becomes a private repository of its owner. */
async function runUnadoptedAdopt(
  cli: CliContext,
  { patterns }: UnadoptedAdoptOptions,
): Promise<void> {
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
}

interface UnadoptedDeleteOptions {
  /** OWNER/NAME, or globs. */
  readonly patterns: readonly string[];
}

export const deleteUnadopted = {
  operations: [forge.deleteUnadopted, forge.listUnadopted],
  output: unpagedList({ ...resultFields, deleted: "boolean?" }),
  destructive: true,
  define(command, cli, run = runUnadoptedDelete): void {
    command
      .argument("<pattern...>", "repositories as OWNER/NAME, or globs such as 'mira/*'")
      .action((patterns: readonly string[]) => run(cli, { patterns }));
  },
} satisfies CommandModule;

/** Deletes the files of repositories without a record. The matches of a glob are confirmed first. */
async function runUnadoptedDelete(
  cli: CliContext,
  { patterns }: UnadoptedDeleteOptions,
): Promise<void> {
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
}

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
