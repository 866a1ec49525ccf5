import type { Command } from "commander";
import type { redeliver as redeliverEndpoint } from "../../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import type { DeliveryOptions } from "./delivery-view.ts";
import { deliveryColumns } from "./hook-columns.ts";

const redeliver = operation<typeof redeliverEndpoint>(
  "forge.admin.hooks.deliveries.redeliver",
  "POST",
  "/api/v1/admin/hooks/:id/deliveries/:delivery_id/redeliver",
);

export const operations = [redeliver];
export const output = resourceOf(redeliver, 201);

export function define(command: Command, cli: CliContext, run = runRedeliver): void {
  command
    .argument("<hook>", "the hook's id")
    .argument("<delivery>", "the delivery's id")
    .action((id: string, deliveryId: string) => run(cli, { id, deliveryId }));
}

/** Has the same payload delivered once more, and prints the new delivery. */
async function runRedeliver(cli: CliContext, { id, deliveryId }: DeliveryOptions): Promise<void> {
  const { body } = await cli.client.call(redeliver, { params: { id, delivery_id: deliveryId } });
  await cli.output.resource(body, deliveryColumns);
}
