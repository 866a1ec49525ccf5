import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { deliveryColumns } from "../../admin/hook/hook-columns.ts";
import type { DeliveryOptions } from "./delivery-view.ts";
import { addHookArguments, toHookName } from "./repository-hook.ts";

export const operations = [forge.redeliverOfRepository];
export const output = resourceOf(forge.redeliverOfRepository, 201);

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
  const { body } = await cli.client.call(forge.redeliverOfRepository, { params });
  await cli.output.resource(body, deliveryColumns);
}
