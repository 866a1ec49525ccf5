import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { deliveryDetailsColumns } from "../../admin/hook/hook-columns.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

export const operations = [forge.getRepositoryDelivery];
export const output = resourceOf(forge.getRepositoryDelivery);

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
  const { body } = await cli.client.call(forge.getRepositoryDelivery, { params });
  await cli.output.resource(body, deliveryDetailsColumns);
}
