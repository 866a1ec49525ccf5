import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";

export const operations = [forge.countNotifications];
export const output = resourceOf(forge.countNotifications);

export function define(command: Command, cli: CliContext, run = runNotificationCount): void {
  command.action(() => run(cli));
}

/** Prints how many of the caller's threads are unread. */
async function runNotificationCount(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.countNotifications, {});
  await cli.output.text(`${body.new}\n`, body);
}
