import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shapeList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../batch.ts";
import { toRepositoryName } from "../../repo/repo-name.ts";
import { AT_ONCE, listMatching } from "./matching.ts";

export const operations = [forge.adoptRepository, forge.listUnadopted];
export const output = shapeList({ ...resultFields, adopted: "boolean?" });

/** What the command was given. */
export interface UnadoptedAdoptOptions {
  /** OWNER/NAME, or globs. */
  readonly patterns: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runUnadoptedAdopt): void {
  command
    .argument("<pattern...>", "repositories as OWNER/NAME, or globs such as 'mira/*'")
    .action((patterns: readonly string[]) => run(cli, { patterns }));
}

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
