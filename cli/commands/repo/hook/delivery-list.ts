import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { assertState } from "../../admin/hook/delivery-list.ts";
import { deliveryColumns } from "../../admin/hook/hook-columns.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

export const operations = [forge.listRepositoryDeliveries];
export const output = listOf(forge.listRepositoryDeliveries);

/** What the command was given. */
export interface DeliveryListOptions extends RepositoryHookName {
  readonly state?: string;
}

export function define(command: Command, cli: CliContext, run = runDeliveryList): void {
  addHookArguments(command)
    .option("--state <state>", "only deliveries that are waiting, delivered or failed")
    .action((repository: string, id: string, flags: { readonly state?: string }) =>
      run(cli, { ...toHookName(repository, id), ...flags }),
    );
}

/** Prints what a hook of a repository delivered, newest first. */
async function runDeliveryList(
  cli: CliContext,
  { state, ...params }: DeliveryListOptions,
): Promise<void> {
  assertState(state);
  const input = { params: { ...params }, query: { state } };
  await cli.output.list(
    forgePages(cli.client, forge.listRepositoryDeliveries, input),
    deliveryColumns,
  );
}
