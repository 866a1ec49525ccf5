import type { Command } from "commander";
import type { getRepositoryDelivery as getRepositoryDeliveryEndpoint } from "../../../../daemon/contract/forge/hooks/repository-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { deliveryDetailsColumns } from "../../admin/hook/hook-columns.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

const getDelivery = operation<typeof getRepositoryDeliveryEndpoint>(
  "forge.repos.hooks.deliveries.get",
  "GET",
  "/api/v1/repos/:owner/:repo/hooks/:id/deliveries/:delivery_id",
);

export const operations = [getDelivery];
export const output = resourceOf(getDelivery);

/** What the command was given. */
export interface DeliveryOptions extends RepositoryHookName {
  readonly deliveryId: string;
}

export function define(command: Command, cli: CliContext, run = runDeliveryView): void {
  addHookArguments(command)
    .argument("<delivery>", "the delivery's id")
    .action((repository: string, id: string, deliveryId: string) =>
      run(cli, { ...toHookName(repository, id), deliveryId }),
    );
}

/** Prints a delivery with what was sent and what came back. */
async function runDeliveryView(
  cli: CliContext,
  { deliveryId, ...hook }: DeliveryOptions,
): Promise<void> {
  const params = { ...hook, delivery_id: deliveryId };
  const { body } = await cli.client.call(getDelivery, { params });
  await cli.output.resource(body, deliveryDetailsColumns);
}
