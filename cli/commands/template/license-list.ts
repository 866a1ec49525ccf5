import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { z } from "zod";
import type { licenseListEntry } from "../../../daemon/contract/forge/templates.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf } from "../../output/spec.ts";
import { withoutCredentials } from "./names.ts";

export const operations = [forge.listLicenseTemplates];
export const output = listOf(forge.listLicenseTemplates);

const columns: readonly Column<z.infer<typeof licenseListEntry>>[] = [
  { header: "key", cell: ({ key }) => key },
  { header: "url", cell: ({ url }) => url },
];

export function define(command: Command, cli: CliContext, run = runLicenseList): void {
  command.action(() => run(cli));
}

/** Prints the licenses that there are texts of. */
async function runLicenseList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.listLicenseTemplates, {}, withoutCredentials);
  await cli.output.list(wholeList(body), columns);
}
