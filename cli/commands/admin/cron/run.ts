import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.runCronTask];
export const output = shape({ started: "boolean", task: "string" });

export function define(command: Command, cli: CliContext, run = runCronRun): void {
  command.argument("<task>", "the task's name").action((task: string) => run(cli, { task }));
}

/** Runs a task. One that takes long goes on after the command has ended; one that is running is left alone. */
async function runCronRun(cli: CliContext, { task }: { readonly task: string }): Promise<void> {
  await cli.client.call(forge.runCronTask, { params: { task } });
  await cli.output.done({ started: true, task }, `Ran ${task}.`);
}
