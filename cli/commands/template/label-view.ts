import type { Command } from "commander";
import type { z } from "zod";
import type {
  getLabelTemplate as getLabelTemplateEndpoint,
  labelTemplate,
} from "../../../daemon/contract/forge/templates.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf } from "../../output/spec.ts";
import { withoutCredentials } from "./names.ts";

const getLabelTemplate = operation<typeof getLabelTemplateEndpoint>(
  "forge.templates.label.get",
  "GET",
  "/api/v1/label/templates/:name",
);

export const operations = [getLabelTemplate];
export const output = listOf(getLabelTemplate);

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
    getLabelTemplate,
    { params: { name } },
    withoutCredentials,
  );
  await cli.output.list(wholeList(body), columns);
}
