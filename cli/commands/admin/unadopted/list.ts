import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import type { PageSource } from "../../../output/pages.ts";
import { listOf } from "../../../output/spec.ts";
import { forgePages } from "../../../client/paging.ts";

export const operations = [forge.listUnadopted];
export const output = listOf(forge.listUnadopted);

/** What the command was given. */
export interface UnadoptedListOptions {
  readonly pattern?: string;
}

export function define(command: Command, cli: CliContext, run = runUnadoptedList): void {
  command
    .argument("[pattern]", "a glob for owners, or OWNER/NAME with globs in both parts")
    .action((pattern: string | undefined) => run(cli, pattern === undefined ? {} : { pattern }));
}

/** Prints the repositories that lie on disk without a record. */
async function runUnadoptedList(cli: CliContext, { pattern }: UnadoptedListOptions): Promise<void> {
  // The items are the names themselves, printed as they are.
  const names = forgePages(cli.client, forge.listUnadopted, {
    query: { query: pattern },
  }) as unknown as PageSource<object>;
  await cli.output.list(names, [{ header: "repository", cell: String }]);
}
