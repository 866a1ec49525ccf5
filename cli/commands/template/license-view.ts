import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { printText, withoutCredentials } from "./names.ts";

export const operations = [forge.getLicenseTemplate];
export const output = resourceOf(forge.getLicenseTemplate);

export function define(command: Command, cli: CliContext, run = runLicenseView): void {
  command.argument("<key>", "the license, such as MIT").action((key: string) => run(cli, { key }));
}

/** Prints the text of a license; its placeholders stay. */
async function runLicenseView(cli: CliContext, { key }: { readonly key: string }): Promise<void> {
  const { body } = await cli.client.call(
    forge.getLicenseTemplate,
    { params: { name: key } },
    withoutCredentials,
  );
  await printText(cli, body.body, body);
}
