import type { Command } from "commander";
import type { getNotification as getNotificationEndpoint } from "../../../daemon/contract/forge/notifications.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { threadLines } from "./thread-columns.ts";

const getNotification = operation<typeof getNotificationEndpoint>(
  "forge.notifications.threads.get",
  "GET",
  "/api/v1/notifications/threads/:id",
);

export const operations = [getNotification];
export const output = resourceOf(getNotification);

export function define(command: Command, cli: CliContext, run = runNotificationView): void {
  command.argument("<id>", "the thread's id").action((id: string) => run(cli, { id }));
}

/** Prints one thread; it stays unread. */
async function runNotificationView(
  cli: CliContext,
  { id }: { readonly id: string },
): Promise<void> {
  const { body } = await cli.client.call(getNotification, { params: { id } });
  await cli.output.resource(body, threadLines);
}
