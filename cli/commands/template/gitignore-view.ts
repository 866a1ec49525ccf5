import type { Command } from "commander";
import type { getGitignoreTemplate as getGitignoreTemplateEndpoint } from "../../../daemon/contract/forge/templates.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { printText, withoutCredentials } from "./names.ts";

const getGitignoreTemplate = operation<typeof getGitignoreTemplateEndpoint>(
  "forge.templates.gitignore.get",
  "GET",
  "/api/v1/gitignore/templates/:name",
);

export const operations = [getGitignoreTemplate];
export const output = resourceOf(getGitignoreTemplate);

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
    getGitignoreTemplate,
    { params: { name } },
    withoutCredentials,
  );
  await printText(cli, body.source, body);
}
