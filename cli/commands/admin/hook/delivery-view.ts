import type { Command } from "commander";
import type { getDelivery as getDeliveryEndpoint } from "../../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { deliveryDetailsColumns } from "./hook-columns.ts";

const getDelivery = operation<typeof getDeliveryEndpoint>(
  "forge.admin.hooks.deliveries.get",
  "GET",
  "/api/v1/admin/hooks/:id/deliveries/:delivery_id",
);

export const operations = [getDelivery];
export const output = resourceOf(getDelivery);

/** What the command was given. */
export interface DeliveryOptions {
  readonly id: string;
  readonly deliveryId: string;
}

export function define(command: Command, cli: CliContext, run = runDeliveryView): void {
  command
    .argument("<hook>", "the hook's id")
    .argument("<delivery>", "the delivery's id")
    .action((id: string, deliveryId: string) => run(cli, { id, deliveryId }));
}

/** Prints a delivery with what was sent and what came back. */
async function runDeliveryView(
  cli: CliContext,
  { id, deliveryId }: DeliveryOptions,
): Promise<void> {
  const params = { id, delivery_id: deliveryId };
  const { body } = await cli.client.call(getDelivery, { params });
  await cli.output.resource(body, deliveryDetailsColumns);
}
