import type { Command } from "commander";
import type { redeliverOfRepository as redeliverOfRepositoryEndpoint } from "../../../../daemon/contract/forge/hooks/repository-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { deliveryColumns } from "../../admin/hook/hook-columns.ts";
import type { DeliveryOptions } from "./delivery-view.ts";
import { addHookArguments, toHookName } from "./repository-hook.ts";

const redeliver = operation<typeof redeliverOfRepositoryEndpoint>(
  "forge.repos.hooks.deliveries.redeliver",
  "POST",
  "/api/v1/repos/:owner/:repo/hooks/:id/deliveries/:delivery_id/redeliver",
);

export const operations = [redeliver];
export const output = resourceOf(redeliver, 201);

export function define(command: Command, cli: CliContext, run = runRedeliver): void {
  addHookArguments(command)
    .argument("<delivery>", "the delivery's id")
    .action((repository: string, id: string, deliveryId: string) =>
      run(cli, { ...toHookName(repository, id), deliveryId }),
    );
}

/** Has the same payload delivered once more, and prints the new delivery. */
async function runRedeliver(
  cli: CliContext,
  { deliveryId, ...hook }: DeliveryOptions,
): Promise<void> {
  const params = { ...hook, delivery_id: deliveryId };
  const { body } = await cli.client.call(redeliver, { params });
  await cli.output.resource(body, deliveryColumns);
}
