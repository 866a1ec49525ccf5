import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { toShellWord } from "../../output/shell-word.ts";
import { resourceOf, listOf } from "../../output/spec.ts";
import {
  addValue,
  addValues,
  findMilestoneId,
  issueLines,
  toDueDate,
} from "../../support/issues.ts";
import { findIssueLabelIds } from "../../support/labels.ts";
import { toLogins } from "../../support/person.ts";
import {
  type RepositoryName,
  toRepositoryName,
  repositoryArgument,
} from "../../support/repository.ts";
import { readTextFlags, type TextFlags } from "../../support/input.ts";
import type { CommandModule } from "../../tree/entry.ts";
import type { WireIssueTemplate } from "../../../daemon/contract/forge/code/issue-templates.ts";
import { forgePages } from "../../client/paging.ts";
import type { Column } from "../../output/cells.ts";

interface IssueCreateOptions extends RepositoryName, TextFlags {
  readonly title?: string;
  readonly fromTemplate?: string;
  readonly assignee?: readonly string[];
  /** The former spelling of `--assignee`. */
  readonly assign?: readonly string[];
  readonly label?: readonly string[];
  readonly milestone?: string;
  readonly due?: string;
}

export const createIssue = {
  operations: [
    forge.createIssue,
    forge.listLabels,
    forge.listOrgLabels,
    forge.getMilestone,
    forge.listIssueTemplates,
    forge.getCurrentUser,
  ],
  output: resourceOf(forge.createIssue, 201),
  define(command, cli, run = runIssueCreate): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .option("-t, --title <text>", "the title; required unless the template has one")
      .option(
        "-T, --from-template <name>",
        "take title, text, labels and assignees from this template",
      )
      .option("-b, --body <text>", 'its text, as Markdown; "-" reads standard input')
      .option("-F, --body-file <file>", 'a file with its text; "-" reads standard input')
      .option(
        "-a, --assignee <username>",
        "assign this user, @me for you; may be repeated",
        addValues,
      )
      .addOption(command.createOption("--assign <username...>", "assign these users").hideHelp())
      .option("-l, --label <name>", "add this label; may be repeated", addValue)
      .option("-m, --milestone <title>", "put it into this milestone")
      .option("--due <date>", "the due date, such as 2026-12-31", toDueDate)
      .action((repository: string, flags: Omit<IssueCreateOptions, keyof RepositoryName>) =>
        run(cli, { ...toRepositoryName(repository), ...flags }),
      );
  },
} satisfies CommandModule;

/** Opens an issue and prints it. Options override the template. */
async function runIssueCreate(cli: CliContext, options: IssueCreateOptions): Promise<void> {
  const { owner, repo, milestone, due } = options;
  const params = { owner, repo };
  // In gh `--template` names an issue template. Here it formats the output, so a name would be printed after the issue
  // was created without a template.
  if (cli.flags.template?.includes("{{") === false)
    throw usageError(
      "--template takes text with {{.field}} for the output",
      `-T ${toShellWord(cli.flags.template)} takes the issue template of this name`,
    );
  const template =
    options.fromTemplate === undefined
      ? undefined
      : await findTemplate(cli, params, options.fromTemplate);
  const title = options.title ?? template?.title ?? "";
  if (title === "") throw new CliError("missing_input", "the title is missing: give --title");
  const text = (await readTextFlags(cli, options)) ?? (template && toTemplateText(template));
  const assign = options.assignee ?? options.assign ?? template?.assignees ?? undefined;
  const label = options.label ?? template?.labels ?? undefined;
  const { body: issue } = await cli.client.call(forge.createIssue, {
    params,
    body: {
      title,
      ...(text === undefined ? {} : { body: text }),
      ...(assign === undefined ? {} : { assignees: await toLogins(cli, assign) }),
      ...(label === undefined ? {} : { labels: await findIssueLabelIds(cli, params, label) }),
      ...(milestone === undefined
        ? {}
        : { milestone: await findMilestoneId(cli, params, milestone) }),
      ...(due === undefined ? {} : { due_date: due }),
    },
  });
  await cli.output.resource(issue, issueLines);
}

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
async function findTemplate(
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

/** Returns the text of a Markdown template, or the fields of a form as headings to fill in. */
function toTemplateText({ content, body }: WireIssueTemplate): string {
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
