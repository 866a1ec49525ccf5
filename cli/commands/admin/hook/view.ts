import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "./hook-columns.ts";

export const operations = [forge.getHook];
export const output = resourceOf(forge.getHook);

export function define(command: Command, cli: CliContext, run = runHookView): void {
  command.argument("<hook>", "the hook's id").action((id: string) => run(cli, { id }));
}

/** Prints a system or default hook. */
async function runHookView(cli: CliContext, { id }: { readonly id: string }): Promise<void> {
  const { body } = await cli.client.call(forge.getHook, { params: { id } });
  await cli.output.resource(body, hookColumns);
}
