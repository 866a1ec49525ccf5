import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import type { DeliveryOptions } from "./delivery-view.ts";
import { deliveryColumns } from "./hook-columns.ts";

export const operations = [forge.redeliver];
export const output = resourceOf(forge.redeliver, 201);

export function define(command: Command, cli: CliContext, run = runRedeliver): void {
  command
    .argument("<hook>", "the hook's id")
    .argument("<delivery>", "the delivery's id")
    .action((id: string, deliveryId: string) => run(cli, { id, deliveryId }));
}

/** Has the same payload delivered once more, and prints the new delivery. */
async function runRedeliver(cli: CliContext, { id, deliveryId }: DeliveryOptions): Promise<void> {
  const { body } = await cli.client.call(forge.redeliver, {
    params: { id, delivery_id: deliveryId },
  });
  await cli.output.resource(body, deliveryColumns);
}
