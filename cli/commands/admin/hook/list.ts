import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { listOf } from "../../../output/spec.ts";
import { hookColumns } from "./hook-columns.ts";

export const operations = [forge.listHooks];
export const output = listOf(forge.listHooks);

/** What the command was given. */
export interface HookListOptions {
  readonly type?: string;
}

export function define(command: Command, cli: CliContext, run = runHookList): void {
  command
    .option("--type <type>", "system, default or all; system by default")
    .action((flags: HookListOptions) => run(cli, flags));
}

/** Prints system hooks, default hooks or both. */
async function runHookList(cli: CliContext, { type }: HookListOptions): Promise<void> {
  // The server takes every other word for system.
  if (type !== undefined && !["system", "default", "all"].includes(type))
    throw usageError(`--type takes system, default or all, not ${JSON.stringify(type)}`);
  await cli.output.list(forgePages(cli.client, forge.listHooks, { query: { type } }), hookColumns);
}
