import type { Command } from "commander";
import type { countNotifications as countNotificationsEndpoint } from "../../../daemon/contract/forge/notifications.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";

export const countNotifications = operation<typeof countNotificationsEndpoint>(
  "forge.notifications.count",
  "GET",
  "/api/v1/notifications/new",
);

export const operations = [countNotifications];
export const output = resourceOf(countNotifications);

export function define(command: Command, cli: CliContext, run = runNotificationCount): void {
  command.action(() => run(cli));
}

/** Prints how many of the caller's threads are unread. */
async function runNotificationCount(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(countNotifications, {});
  await cli.output.text(`${body.new}\n`, body);
}
