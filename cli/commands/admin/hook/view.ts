import type { Command } from "commander";
import type { getHook as getHookEndpoint } from "../../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "./hook-columns.ts";

const getHook = operation<typeof getHookEndpoint>(
  "forge.admin.hooks.get",
  "GET",
  "/api/v1/admin/hooks/:id",
);

export const operations = [getHook];
export const output = resourceOf(getHook);

export function define(command: Command, cli: CliContext, run = runHookView): void {
  command.argument("<hook>", "the hook's id").action((id: string) => run(cli, { id }));
}

/** Prints a system or default hook. */
async function runHookView(cli: CliContext, { id }: { readonly id: string }): Promise<void> {
  const { body } = await cli.client.call(getHook, { params: { id } });
  await cli.output.resource(body, hookColumns);
}
