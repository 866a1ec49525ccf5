import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { listOf } from "../../../output/spec.ts";
import { deliveryColumns } from "./hook-columns.ts";

export const operations = [forge.listDeliveries];
export const output = listOf(forge.listDeliveries);

/** What the command was given. */
export interface DeliveryListOptions {
  readonly id: string;
  readonly state?: string;
}

export function define(command: Command, cli: CliContext, run = runDeliveryList): void {
  command
    .argument("<hook>", "the hook's id")
    .option("--state <state>", "only deliveries that are waiting, delivered or failed")
    .action((id: string, flags: { readonly state?: string }) => run(cli, { id, ...flags }));
}

/** Prints what a hook delivered, newest first. */
async function runDeliveryList(cli: CliContext, { id, state }: DeliveryListOptions): Promise<void> {
  assertState(state);
  const input = { params: { id }, query: { state } };
  await cli.output.list(forgePages(cli.client, forge.listDeliveries, input), deliveryColumns);
}

/** The server takes every other word for no filter. @throws CliError `usage` */
export function assertState(state: string | undefined): void {
  if (state !== undefined && !["waiting", "delivered", "failed"].includes(state))
    throw usageError(`--state takes waiting, delivered or failed, not ${JSON.stringify(state)}`);
}
