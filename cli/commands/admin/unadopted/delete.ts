import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shapeList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../batch.ts";
import { toRepositoryName } from "../../repo/repo-name.ts";
import { AT_ONCE, listMatching } from "./matching.ts";

export const operations = [forge.deleteUnadopted, forge.listUnadopted];
export const output = shapeList({ ...resultFields, deleted: "boolean?" });
export const destructive = true;

/** What the command was given. */
export interface UnadoptedDeleteOptions {
  /** OWNER/NAME, or globs. */
  readonly patterns: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runUnadoptedDelete): void {
  command
    .argument("<pattern...>", "repositories as OWNER/NAME, or globs such as 'mira/*'")
    .action((patterns: readonly string[]) => run(cli, { patterns }));
}

/** Deletes the files of repositories without a record. What a glob stands for is asked about first. */
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
