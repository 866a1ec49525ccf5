import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { printText, withoutCredentials } from "./names.ts";

export const operations = [forge.getGitignoreTemplate];
export const output = resourceOf(forge.getGitignoreTemplate);

export function define(command: Command, cli: CliContext, run = runGitignoreView): void {
  command
    .argument("<name>", "the template, such as Node")
    .action((name: string) => run(cli, { name }));
}

/** Prints the text of an ignore file. */
async function runGitignoreView(
  cli: CliContext,
  { name }: { readonly name: string },
): Promise<void> {
  const { body } = await cli.client.call(
    forge.getGitignoreTemplate,
    { params: { name } },
    withoutCredentials,
  );
  await printText(cli, body.source, body);
}
