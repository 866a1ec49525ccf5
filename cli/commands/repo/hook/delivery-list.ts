import type { Command } from "commander";
import type { listRepositoryDeliveries as listRepositoryDeliveriesEndpoint } from "../../../../daemon/contract/forge/hooks/repository-hooks.ts";
import { operation } from "../../../client/operation.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { assertState } from "../../admin/hook/delivery-list.ts";
import { deliveryColumns } from "../../admin/hook/hook-columns.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

const listDeliveries = operation<typeof listRepositoryDeliveriesEndpoint>(
  "forge.repos.hooks.deliveries.list",
  "GET",
  "/api/v1/repos/:owner/:repo/hooks/:id/deliveries",
);

export const operations = [listDeliveries];
export const output = listOf(listDeliveries);

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
  await cli.output.list(forgePages(cli.client, listDeliveries, input), deliveryColumns);
}
