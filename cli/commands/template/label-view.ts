import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { z } from "zod";
import type { labelTemplate } from "../../../daemon/contract/forge/templates.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf } from "../../output/spec.ts";
import { withoutCredentials } from "./names.ts";

export const operations = [forge.getLabelTemplate];
export const output = listOf(forge.getLabelTemplate);

const columns: readonly Column<z.infer<typeof labelTemplate>>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "color", cell: ({ color }) => color },
  { header: "exclusive", cell: ({ exclusive }) => exclusive },
  { header: "description", cell: ({ description }) => description },
];

export function define(command: Command, cli: CliContext, run = runLabelView): void {
  command
    .argument("<name>", "the set, such as Default")
    .action((name: string) => run(cli, { name }));
}

/** Prints the labels of a set in their order. */
async function runLabelView(cli: CliContext, { name }: { readonly name: string }): Promise<void> {
  const { body } = await cli.client.call(
    forge.getLabelTemplate,
    { params: { name } },
    withoutCredentials,
  );
  await cli.output.list(wholeList(body), columns);
}
