import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { deliveryDetailsColumns } from "./hook-columns.ts";

export const operations = [forge.getDelivery];
export const output = resourceOf(forge.getDelivery);

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
  const { body } = await cli.client.call(forge.getDelivery, { params });
  await cli.output.resource(body, deliveryDetailsColumns);
}
