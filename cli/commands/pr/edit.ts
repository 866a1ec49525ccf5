import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { readTextFlags } from "../../support/input.ts";
import { addValue, addValues, findMilestoneId } from "../../support/issues.ts";
import { findIssueLabelIds } from "../../support/labels.ts";
import { toLogins } from "../../support/person.ts";
import { findPullName, pullArgument, pullLines } from "../../support/pulls.ts";
import type { IssueName } from "../../support/repository.ts";
import { commandDetails, type FlagValues } from "../../tree/command.ts";

/** What marks a draft at the beginning of a title. */
const DRAFT = /^\s*(?:\[WIP\]|WIP:)\s*/i;

const editFlags = {
  "-t, --title <text>": "a new title",
  "-b, --body <text>": 'a new text; "-" reads standard input',
  "-F, --body-file <file>": 'a file with a new text; "-" reads standard input',
  "-B, --base <branch>": "another base",
  "--assign <username...>": "exactly these users; @me is you",
  "--add-label <name>": { help: "add this label; may be repeated", parse: addValue },
  "--remove-label <name>": { help: "remove this label; may be repeated", parse: addValue },
  "--add-reviewer <name>": {
    help: "ask this person, or the team ORGANIZATION/TEAM, for a review; may be repeated",
    parse: addValues,
  },
  "--remove-reviewer <name>": { help: "take back a request; may be repeated", parse: addValues },
  "-m, --milestone <title>": "put it into this milestone",
} as const;

export const editPull = commandDetails({
  args: pullArgument,
  flags: editFlags,
  calls: [
    forge.listPulls,
    forge.getPull,
    forge.editPull,
    forge.addIssueLabels,
    forge.removeIssueLabel,
    forge.requestReviews,
    forge.cancelReviewRequests,
    forge.listLabels,
    forge.listOrgLabels,
    forge.getMilestone,
    forge.getCurrentUser,
  ],
  output: resourceOf(forge.getPull),
  destructive: false,
  examples: [
    ["Give a pull request another base", "croft pr edit keeper/notes#7 --base next"],
    [
      "Ask for a review and add a label",
      "croft pr edit keeper/notes#7 --add-reviewer mira --add-label bug",
    ],
  ],
  async run(cli, flags) {
    const params = await findPullName(cli, flags);
    const changes = await toChanges(cli, params, flags);
    const { addReviewer = [], removeReviewer = [], addLabel = [], removeLabel = [] } = flags;
    const lists = [addReviewer, removeReviewer, addLabel, removeLabel];
    if (Object.keys(changes).length === 0 && lists.every(({ length }) => length === 0))
      throw new CliError("missing_input", "nothing to change: give --title, --body or --base");
    // Unknown names fail here, before any change.
    const added = await findIssueLabelIds(cli, params, addLabel);
    const removed = await findIssueLabelIds(cli, params, removeLabel);
    if (Object.keys(changes).length > 0)
      await cli.client.call(forge.editPull, { params, body: changes });
    if (added.length > 0)
      await cli.client.call(forge.addIssueLabels, { params, body: { labels: added } });
    for (const id of removed)
      await cli.client.call(forge.removeIssueLabel, { params: { ...params, id } });
    if (addReviewer.length > 0)
      await cli.client.call(forge.requestReviews, { params, body: toReviewers(addReviewer) });
    if (removeReviewer.length > 0)
      await cli.client.call(forge.cancelReviewRequests, {
        params,
        body: toReviewers(removeReviewer),
      });
    const { body } = await cli.client.call(forge.getPull, { params });
    await cli.output.resource(body, pullLines);
  },
});

async function toChanges(cli: CliContext, params: IssueName, flags: FlagValues<typeof editFlags>) {
  const { title, base, assign, milestone } = flags;
  const body = await readTextFlags(cli, flags);
  return {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body }),
    ...(base === undefined ? {} : { base }),
    ...(assign === undefined ? {} : { assignees: await toLogins(cli, assign) }),
    ...(milestone === undefined
      ? {}
      : { milestone: await findMilestoneId(cli, params, milestone) }),
  };
}

/** Separates people from teams, which are named with their organization. */
export function toReviewers(names: readonly string[]) {
  const teams = names.filter((name) => name.includes("/"));
  return {
    reviewers: names.filter((name) => !teams.includes(name)),
    team_reviewers: teams.map((name) => name.slice(name.indexOf("/") + 1)),
  };
}

export const markReady = commandDetails({
  args: pullArgument,
  flags: { "--undo": "make it a draft again" },
  calls: [forge.listPulls, forge.getPull, forge.editPull],
  output: resourceOf(forge.editPull, 201),
  examples: [
    ["Mark a draft as ready", "croft pr ready keeper/notes#7"],
    ["Make it a draft again", "croft pr ready keeper/notes#7 --undo"],
  ],
  /** Removes the mark of a draft from the title, or adds it. */
  async run(cli, { undo = false, ...flags }) {
    const params = await findPullName(cli, flags);
    const { body: pull } = await cli.client.call(forge.getPull, { params });
    const plain = pull.title.replace(DRAFT, "");
    const title = undo ? `WIP: ${plain}` : plain;
    const { body } = await cli.client.call(forge.editPull, { params, body: { title } });
    await cli.output.resource(body, pullLines);
  },
});

export const closePull = toStateCommand("closed", "Close");
export const reopenPull = toStateCommand("open", "Reopen");

function toStateCommand(state: "open" | "closed", verb: "Close" | "Reopen") {
  return commandDetails({
    args: pullArgument,
    flags: { "-c, --comment <text>": "comment on it first" },
    calls: [forge.listPulls, forge.createIssueComment, forge.editPull],
    output: resourceOf(forge.editPull, 201),
    examples: [
      [`${verb} a pull request`, `croft pr ${verb.toLowerCase()} keeper/notes#7`],
      [
        `${verb} it with a comment`,
        `croft pr ${verb.toLowerCase()} keeper/notes#7 --comment "See the other one"`,
      ],
    ],
    async run(cli, { comment, ...flags }) {
      const params = await findPullName(cli, flags);
      if (comment !== undefined)
        await cli.client.call(forge.createIssueComment, { params, body: { body: comment } });
      const { body } = await cli.client.call(forge.editPull, { params, body: { state } });
      await cli.output.resource(body, pullLines);
    },
  });
}
