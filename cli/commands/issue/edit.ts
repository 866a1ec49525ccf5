import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { addValue, findMilestoneId, issueLines, toDueDate } from "../../support/issues.ts";
import { findIssueLabelIds } from "../../support/labels.ts";
import { type IssueName, readText, toIssueName } from "../../support/repository.ts";
import type { CommandModule } from "../../tree/entry.ts";

interface IssueEditOptions extends IssueName {
  readonly title?: string;
  readonly body?: string;
  readonly assign?: readonly string[];
  readonly label?: readonly string[];
  readonly addLabel?: readonly string[];
  readonly removeLabel?: readonly string[];
  /** False removes it. */
  readonly milestone?: string | false;
  readonly due?: string | false;
  readonly close?: boolean;
  readonly reopen?: boolean;
}

export const editIssue = {
  operations: [
    forge.editIssue,
    forge.getIssue,
    forge.addIssueLabels,
    forge.replaceIssueLabels,
    forge.removeIssueLabel,
    forge.listLabels,
    forge.listOrgLabels,
    forge.getMilestone,
  ],
  output: resourceOf(forge.editIssue, 201),
  destructive: false,
  define(command, cli, run = runIssueEdit): void {
    command
      .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
      .option("--title <text>", "a new title")
      .option("--body <text>", 'a new text; "-" reads standard input')
      .option("--assign <username...>", "exactly these users")
      .option("--label <name>", "exactly this label; may be repeated", addValue)
      .option("--add-label <name>", "add this label; may be repeated", addValue)
      .option("--remove-label <name>", "remove this label; may be repeated", addValue)
      .option("--milestone <title>", "put it into this milestone")
      .option("--no-milestone", "remove it from its milestone")
      .option("--due <date>", "the due date, such as 2026-12-31", toDueDate)
      .option("--no-due", "remove the due date")
      .option("--close", "close it")
      .option("--reopen", "open it again")
      .action((given: string, options: Omit<IssueEditOptions, keyof IssueName>) =>
        run(cli, { ...toIssueName(given), ...options }),
      );
  },
} satisfies CommandModule;

/** Changes an issue and prints it. */
async function runIssueEdit(cli: CliContext, options: IssueEditOptions): Promise<void> {
  const { owner, repo, index, label, addLabel = [], removeLabel = [] } = options;
  if (options.close === true && options.reopen === true)
    throw usageError("--close and --reopen exclude each other");
  if (label !== undefined && addLabel.length + removeLabel.length > 0)
    throw usageError("--label sets the labels: it excludes --add-label and --remove-label");
  const params = { owner, repo, index };
  const changes = await toChanges(cli, options);
  const changesLabels = label !== undefined || addLabel.length + removeLabel.length > 0;
  if (Object.keys(changes).length === 0 && !changesLabels)
    throw new CliError("missing_input", "say what to change: --title, --body, --label, --close");
  // Every name is looked up before anything is changed.
  const [set, added, removed] = [
    label && (await findIssueLabelIds(cli, params, label)),
    await findIssueLabelIds(cli, params, addLabel),
    await findIssueLabelIds(cli, params, removeLabel),
  ];
  if (set !== undefined)
    await cli.client.call(forge.replaceIssueLabels, { params, body: { labels: set } });
  if (added.length > 0)
    await cli.client.call(forge.addIssueLabels, { params, body: { labels: added } });
  for (const id of removed)
    await cli.client.call(forge.removeIssueLabel, { params: { ...params, id } });
  const { body: issue } =
    Object.keys(changes).length === 0
      ? await cli.client.call(forge.getIssue, { params })
      : await cli.client.call(forge.editIssue, { params, body: changes });
  await cli.output.resource(issue, issueLines);
}

async function toChanges(cli: CliContext, options: IssueEditOptions) {
  const { owner, repo, title, body, assign, milestone, due, close, reopen } = options;
  return {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body: await readText(cli, body) }),
    ...(assign === undefined ? {} : { assignees: [...assign] }),
    ...(milestone === undefined
      ? {}
      : {
          milestone:
            milestone === false ? 0 : await findMilestoneId(cli, { owner, repo }, milestone),
        }),
    ...(due === false ? { unset_due_date: true } : {}),
    ...(typeof due === "string" ? { due_date: due } : {}),
    ...(close === true ? { state: "closed" } : {}),
    ...(reopen === true ? { state: "open" } : {}),
  };
}

interface IssueStateOptions extends IssueName {
  readonly comment?: string;
}

export const closeIssue = toStateCommand("closed");
export const reopenIssue = toStateCommand("open");

/** A command that sets the state of an issue, after a comment on request. */
function toStateCommand(state: "open" | "closed") {
  return {
    operations: [forge.editIssue, forge.createIssueComment],
    output: resourceOf(forge.editIssue, 201),
    define(command, cli, run = runState): void {
      command
        .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
        .option("--comment <text>", 'add a comment first; "-" reads standard input')
        .action((given: string, options: { readonly comment?: string }) =>
          run(cli, { ...toIssueName(given), ...options }),
        );
    },
  } satisfies CommandModule;

  async function runState(cli: CliContext, { comment, ...params }: IssueStateOptions) {
    if (comment !== undefined)
      await cli.client.call(forge.createIssueComment, {
        params,
        body: { body: await readText(cli, comment) },
      });
    const { body: issue } = await cli.client.call(forge.editIssue, { params, body: { state } });
    await cli.output.resource(issue, issueLines);
  }
}
