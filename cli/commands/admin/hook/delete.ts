import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.deleteHook];
export const output = shape({ deleted: "boolean", id: "string" });
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runHookDelete): void {
  command.argument("<hook>", "the hook's id").action((id: string) => run(cli, { id }));
}

/** Deletes a hook with its deliveries. Copies of a default hook stay in their repositories. */
async function runHookDelete(cli: CliContext, { id }: { readonly id: string }): Promise<void> {
  await cli.prompts.confirm(`Delete the hook ${id} and its deliveries?`);
  await cli.client.call(forge.deleteHook, { params: { id } });
  await cli.output.done({ deleted: true, id }, `Deleted the hook ${id}.`);
}
