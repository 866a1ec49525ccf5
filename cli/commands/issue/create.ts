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
import { type RepositoryName, repositoryArgument } from "../../support/repository.ts";
import { readTextFlags } from "../../support/input.ts";
import type { WireIssueTemplate } from "../../../daemon/contract/forge/code/issue-templates.ts";
import { forgePages } from "../../client/paging.ts";
import type { Column } from "../../output/cells.ts";
import { commandDetails } from "../../tree/command.ts";

export const createIssue = commandDetails({
  args: repositoryArgument,
  flags: {
    "-t, --title <text>": "the title; required unless the template has one",
    "-T, --from-template <name>": "take title, text, labels and assignees from this template",
    "-b, --body <text>": 'its text, as Markdown; "-" reads standard input',
    "-F, --body-file <file>": 'a file with its text; "-" reads standard input',
    "-a, --assignee <username>": {
      help: "assign this user, @me for you; may be repeated",
      parse: addValues,
    },
    "--assign <username...>": { help: "assign these users", hidden: true },
    "-l, --label <name>": { help: "add this label; may be repeated", parse: addValue },
    "-m, --milestone <title>": "put it into this milestone",
    "--due <date>": { help: "the due date, such as 2026-12-31", parse: toDueDate },
  },
  calls: [
    forge.createIssue,
    forge.listLabels,
    forge.listOrgLabels,
    forge.getMilestone,
    forge.listIssueTemplates,
    forge.getCurrentUser,
  ],
  output: resourceOf(forge.createIssue, 201),
  examples: [
    ["Create an issue", 'croft issue create keeper/notes --title "The build fails"'],
    [
      "Create a labelled bug with its text from a file",
      'croft issue create keeper/notes --title "Crash" --label bug --body - < notes.md',
    ],
    [
      "Fill a template in",
      'croft issue create keeper/notes --from-template Bug --title "Crash on start"',
    ],
  ],
  /** Opens an issue and prints it. Options override the template. */
  async run(cli, { repository, ...flags }) {
    const options = { ...repository, ...flags };
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
  },
});

export const listTemplates = commandDetails({
  args: repositoryArgument,
  calls: [forge.listIssueTemplates],
  output: listOf(forge.listIssueTemplates),
  examples: [
    ["List the templates of a repository", "croft issue templates keeper/notes"],
    ["Print their names", "croft issue templates keeper/notes --jq '.[].name'"],
  ],
  /** Prints the issue templates in the default branch of a repository. */
  async run(cli, { repository: params }) {
    const pages = forgePages(cli.client, forge.listIssueTemplates, { params });
    await cli.output.list(pages, templateColumns);
  },
});

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
