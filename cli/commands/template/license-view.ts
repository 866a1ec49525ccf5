import type { Command } from "commander";
import type { getLicenseTemplate as getLicenseTemplateEndpoint } from "../../../daemon/contract/forge/templates.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { printText, withoutCredentials } from "./names.ts";

const getLicenseTemplate = operation<typeof getLicenseTemplateEndpoint>(
  "forge.templates.license.get",
  "GET",
  "/api/v1/licenses/:name",
);

export const operations = [getLicenseTemplate];
export const output = resourceOf(getLicenseTemplate);

export function define(command: Command, cli: CliContext, run = runLicenseView): void {
  command.argument("<key>", "the license, such as MIT").action((key: string) => run(cli, { key }));
}

/** Prints the text of a license; its placeholders stay. */
async function runLicenseView(cli: CliContext, { key }: { readonly key: string }): Promise<void> {
  const { body } = await cli.client.call(
    getLicenseTemplate,
    { params: { name: key } },
    withoutCredentials,
  );
  await printText(cli, body.body, body);
}
