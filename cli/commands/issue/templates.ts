import type { WireIssueTemplate } from "../../../daemon/contract/forge/code/issue-templates.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import type { Column } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
import {
  type RepositoryName,
  repositoryArgument,
  toRepositoryName,
} from "../../support/repository.ts";
import type { CommandModule } from "../../tree/entry.ts";

export const listTemplates = {
  operations: [forge.listIssueTemplates],
  output: listOf(forge.listIssueTemplates),
  define(command, cli, run = runTemplateList): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Prints the issue templates in the default branch of a repository. */
async function runTemplateList(cli: CliContext, params: RepositoryName): Promise<void> {
  const pages = forgePages(cli.client, forge.listIssueTemplates, { params });
  await cli.output.list(pages, templateColumns);
}

/** Returns the template with a name or a file name. @throws CliError `not_found` */
export async function findTemplate(
  { client }: CliContext,
  params: RepositoryName,
  nameOrFile: string,
): Promise<WireIssueTemplate> {
  const { body: templates } = await client.call(forge.listIssueTemplates, { params });
  const found = templates.find(
    ({ name, file_name: file }) =>
      name === nameOrFile || file === nameOrFile || file.split("/").at(-1) === nameOrFile,
  );
  if (found !== undefined) return found;
  const known = templates.map(({ name }) => name).join(", ");
  throw new CliError(
    "not_found",
    `${params.owner}/${params.repo} has no issue template ${JSON.stringify(nameOrFile)}${known === "" ? "" : `, but ${known}`}`,
  );
}

/** The fields of a form as headings to fill in; the text of a template in Markdown as it is. */
export function toTemplateText({ content, body }: WireIssueTemplate): string {
  if (body === null) return content;
  return body
    .filter(({ type }) => type !== "markdown")
    .map(({ id, attributes }) => {
      const [label, value] = [attributes?.["label"], attributes?.["value"]];
      const heading = typeof label === "string" ? label : id;
      return `### ${heading}\n\n${typeof value === "string" ? value : "_No response_"}\n`;
    })
    .join("\n");
}

const templateColumns: readonly Column<WireIssueTemplate>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "about", cell: ({ about }) => about },
  { header: "labels", cell: ({ labels }) => labels ?? [] },
  { header: "file", cell: ({ file_name: file }) => file },
];
