import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { threadLines } from "./thread-columns.ts";

export const operations = [forge.getNotification];
export const output = resourceOf(forge.getNotification);

export function define(command: Command, cli: CliContext, run = runNotificationView): void {
  command.argument("<id>", "the thread's id").action((id: string) => run(cli, { id }));
}

/** Prints one thread; it stays unread. */
async function runNotificationView(
  cli: CliContext,
  { id }: { readonly id: string },
): Promise<void> {
  const { body } = await cli.client.call(forge.getNotification, { params: { id } });
  await cli.output.resource(body, threadLines);
}
