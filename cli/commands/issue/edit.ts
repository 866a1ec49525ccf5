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
import { type IssueName, issueArgument } from "../../support/repository.ts";
import { readText, readTextFlags } from "../../support/input.ts";
import { commandDetails, type FlagValues } from "../../tree/command.ts";

const editFlags = {
  "-t, --title <text>": "a new title",
  "-b, --body <text>": 'a new text; "-" reads standard input',
  "-F, --body-file <file>": 'a file with a new text; "-" reads standard input',
  "--assign <username...>": "exactly these users",
  "--add-assignee <username>": {
    help: "assign this user, @me for you; may be repeated",
    parse: addValues,
  },
  "--remove-assignee <username>": {
    help: "no longer assign this user; may be repeated",
    parse: addValues,
  },
  "--label <name>": { help: "exactly this label; may be repeated", parse: addValue },
  "--add-label <name>": { help: "add this label; may be repeated", parse: addValue },
  "--remove-label <name>": { help: "remove this label; may be repeated", parse: addValue },
  "-m, --milestone <title>": "put it into this milestone",
  "--no-milestone": "remove it from its milestone",
  "--due <date>": { help: "the due date, such as 2026-12-31", parse: toDueDate },
  "--no-due": "remove the due date",
  "--close": "close it",
  "--reopen": "open it again",
} as const;
type IssueEdit = IssueName & FlagValues<typeof editFlags>;

export const editIssue = commandDetails({
  args: issueArgument,
  flags: editFlags,
  calls: [
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
  examples: [
    [
      "Assign an issue and put it into a milestone",
      'croft issue edit keeper/notes#7 --assign mira --milestone "Version 1"',
    ],
    ["Add a label", "croft issue edit keeper/notes#7 --add-label bug"],
  ],
  /** Changes an issue and prints it. */
  async run(cli, { issue: params, ...options }) {
    const { label, addLabel = [], removeLabel = [] } = options;
    if (options.close === true && options.reopen === true)
      throw usageError("--close and --reopen exclude each other");
    if (label !== undefined && addLabel.length + removeLabel.length > 0)
      throw usageError("--label sets the labels: it excludes --add-label and --remove-label");
    if (
      options.assign !== undefined &&
      (options.addAssignee ?? options.removeAssignee) !== undefined
    )
      throw usageError("--assign excludes --add-assignee and --remove-assignee");
    const changes = await toChanges(cli, { ...params, ...options });
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
  },
});

async function toChanges(cli: CliContext, options: IssueEdit) {
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
async function toAssignees(cli: CliContext, options: IssueEdit) {
  const { owner, repo, index, assign, addAssignee = [], removeAssignee = [] } = options;
  if (assign !== undefined) return toLogins(cli, assign);
  if (addAssignee.length + removeAssignee.length === 0) return undefined;
  const { body: issue } = await cli.client.call(forge.getIssue, { params: { owner, repo, index } });
  const added = await toLogins(cli, addAssignee);
  const removed = (await toLogins(cli, removeAssignee)).map((login) => login.toLowerCase());
  const present = (issue.assignees ?? []).map(({ login }) => login);
  return [...present, ...added].filter((login) => !removed.includes(login.toLowerCase()));
}

export const closeIssue = toStateCommand("closed");

export const reopenIssue = toStateCommand("open");

/** A command that sets the state of an issue, optionally after adding a comment. */
function toStateCommand(state: "open" | "closed") {
  return commandDetails({
    args: issueArgument,
    flags: { "-c, --comment <text>": 'add a comment first; "-" reads standard input' },
    calls: [forge.editIssue, forge.createIssueComment],
    output: resourceOf(forge.editIssue, 201),
    examples: [
      ["Close an issue", "croft issue close keeper/notes#7"],
      ["Close it with a comment", 'croft issue close keeper/notes#7 --comment "Fixed in v1.1"'],
      ["Reopen an issue", "croft issue reopen keeper/notes#7"],
      ["Reopen it with a comment", 'croft issue reopen keeper/notes#7 --comment "It is back"'],
    ],
    async run(cli, { issue: params, comment }) {
      if (comment !== undefined)
        await cli.client.call(forge.createIssueComment, {
          params,
          body: { body: await readText(cli, comment) },
        });
      const { body: issue } = await cli.client.call(forge.editIssue, { params, body: { state } });
      await cli.output.resource(issue, issueLines);
    },
  });
}
