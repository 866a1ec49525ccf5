import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import {
  addValue,
  addValues,
  findMilestoneId,
  issueLines,
  toDueDate,
} from "../../support/issues.ts";
import { findIssueLabelIds } from "../../support/labels.ts";
import { toLogins } from "../../support/person.ts";
import { type IssueName, toIssueName } from "../../support/repository.ts";
import { readText, readTextFlags, type TextFlags } from "../../support/input.ts";
import type { CommandModule } from "../../tree/entry.ts";

interface IssueEditOptions extends IssueName, TextFlags {
  readonly title?: string;
  readonly assign?: readonly string[];
  readonly addAssignee?: readonly string[];
  readonly removeAssignee?: readonly string[];
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
    forge.getCurrentUser,
  ],
  output: resourceOf(forge.editIssue, 201),
  destructive: false,
  define(command, cli, run = runIssueEdit): void {
    command
      .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
      .option("-t, --title <text>", "a new title")
      .option("-b, --body <text>", 'a new text; "-" reads standard input')
      .option("-F, --body-file <file>", 'a file with a new text; "-" reads standard input')
      .option("--assign <username...>", "exactly these users")
      .option(
        "--add-assignee <username>",
        "assign this user, @me for you; may be repeated",
        addValues,
      )
      .option(
        "--remove-assignee <username>",
        "no longer assign this user; may be repeated",
        addValues,
      )
      .option("--label <name>", "exactly this label; may be repeated", addValue)
      .option("--add-label <name>", "add this label; may be repeated", addValue)
      .option("--remove-label <name>", "remove this label; may be repeated", addValue)
      .option("-m, --milestone <title>", "put it into this milestone")
      .option("--no-milestone", "remove it from its milestone")
      .option("--due <date>", "the due date, such as 2026-12-31", toDueDate)
      .option("--no-due", "remove the due date")
      .option("--close", "close it")
      .option("--reopen", "open it again")
      .action((issue: string, flags: Omit<IssueEditOptions, keyof IssueName>) =>
        run(cli, { ...toIssueName(issue), ...flags }),
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
  if (options.assign !== undefined && (options.addAssignee ?? options.removeAssignee) !== undefined)
    throw usageError("--assign excludes --add-assignee and --remove-assignee");
  const params = { owner, repo, index };
  const changes = await toChanges(cli, options);
  const changesLabels = label !== undefined || addLabel.length + removeLabel.length > 0;
  if (Object.keys(changes).length === 0 && !changesLabels)
    throw new CliError(
      "missing_input",
      "nothing to change: give --title, --body, --label or --close",
    );
  // Unknown names fail here, before any change.
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
  const { owner, repo, title, milestone, due, close, reopen } = options;
  const body = await readTextFlags(cli, options);
  const assign = await toAssignees(cli, options);
  return {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body }),
    ...(assign === undefined ? {} : { assignees: assign }),
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

/** Returns the new assignees; undefined keeps the current ones. */
async function toAssignees(cli: CliContext, options: IssueEditOptions) {
  const { owner, repo, index, assign, addAssignee = [], removeAssignee = [] } = options;
  if (assign !== undefined) return toLogins(cli, assign);
  if (addAssignee.length + removeAssignee.length === 0) return undefined;
  const { body: issue } = await cli.client.call(forge.getIssue, { params: { owner, repo, index } });
  const added = await toLogins(cli, addAssignee);
  const removed = (await toLogins(cli, removeAssignee)).map((login) => login.toLowerCase());
  const present = (issue.assignees ?? []).map(({ login }) => login);
  return [...present, ...added].filter((login) => !removed.includes(login.toLowerCase()));
}

interface IssueStateOptions extends IssueName {
  readonly comment?: string;
}

export const closeIssue = toStateCommand("closed");
export const reopenIssue = toStateCommand("open");

/** Creates a command that sets the state of an issue, optionally after adding a comment. */
function toStateCommand(state: "open" | "closed") {
  return {
    operations: [forge.editIssue, forge.createIssueComment],
    output: resourceOf(forge.editIssue, 201),
    define(command, cli, run = runState): void {
      command
        .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
        .option("-c, --comment <text>", 'add a comment first; "-" reads standard input')
        .action((issue: string, flags: { readonly comment?: string }) =>
          run(cli, { ...toIssueName(issue), ...flags }),
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
