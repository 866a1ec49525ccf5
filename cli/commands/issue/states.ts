import { forge } from "../../client/operations.ts";
import { shape } from "../../output/spec.ts";
import { type IssueName, issueArgument } from "../../support/repository.ts";
import { commandDetails } from "../../tree/command.ts";

const toText = ({ owner, repo, index }: IssueName) => `${owner}/${repo}#${index}`;

export const lockIssue = commandDetails({
  args: issueArgument,
  flags: { "--reason <text>": "why: off-topic, too heated, resolved or spam, or any text" },
  calls: [forge.lockIssue],
  output: shape({ locked: "boolean", issue: "string" }),
  examples: [
    ["Lock an issue", "croft issue lock keeper/notes#7"],
    ["Lock it and say why", "croft issue lock keeper/notes#7 --reason resolved"],
  ],
  /** Locks an issue, so that only users with write access comment. */
  async run(cli, { issue: params, reason }) {
    const body = reason === undefined ? {} : { lock_reason: reason };
    await cli.client.call(forge.lockIssue, { params, body });
    const issue = toText(params);
    await cli.output.done({ locked: true, issue }, `Locked ${issue}.`);
  },
});

export const unlockIssue = commandDetails({
  args: issueArgument,
  calls: [forge.unlockIssue],
  output: shape({ locked: "boolean", issue: "string" }),
  destructive: false,
  examples: [
    ["Unlock an issue", "croft issue unlock keeper/notes#7"],
    ["Show the request only", "croft issue unlock keeper/notes#7 --dry-run"],
  ],
  async run(cli, { issue: params }) {
    await cli.client.call(forge.unlockIssue, { params });
    const issue = toText(params);
    await cli.output.done({ locked: false, issue }, `Unlocked ${issue}.`);
  },
});

export const pinIssue = commandDetails({
  args: issueArgument,
  calls: [forge.pinIssue],
  output: shape({ pinned: "boolean", issue: "string" }),
  examples: [
    ["Pin an issue", "croft issue pin keeper/notes#7"],
    ["Show the request only", "croft issue pin keeper/notes#7 --dry-run"],
  ],
  /** Pins an issue of a repository, which has at most three. */
  async run(cli, { issue: params }) {
    await cli.client.call(forge.pinIssue, { params });
    const issue = toText(params);
    await cli.output.done({ pinned: true, issue }, `Pinned ${issue}.`);
  },
});

export const unpinIssue = commandDetails({
  args: issueArgument,
  calls: [forge.unpinIssue],
  output: shape({ pinned: "boolean", issue: "string" }),
  destructive: false,
  examples: [
    ["Unpin an issue", "croft issue unpin keeper/notes#7"],
    ["Show the request only", "croft issue unpin keeper/notes#7 --dry-run"],
  ],
  async run(cli, { issue: params }) {
    await cli.client.call(forge.unpinIssue, { params });
    const issue = toText(params);
    await cli.output.done({ pinned: false, issue }, `Unpinned ${issue}.`);
  },
});

export const deleteIssue = commandDetails({
  args: issueArgument,
  calls: [forge.deleteIssue],
  output: shape({ deleted: "boolean", issue: "string" }),
  destructive: true,
  examples: [
    ["Delete an issue", "croft issue delete keeper/notes#7 --yes"],
    ["Show the request only", "croft issue delete keeper/notes#7 --dry-run"],
  ],
  async run(cli, { issue: params }) {
    const issue = toText(params);
    await cli.prompts.confirm(`Delete ${issue} with its comments?`);
    await cli.client.call(forge.deleteIssue, { params });
    await cli.output.done({ deleted: true, issue }, `Deleted ${issue}.`);
  },
});

export const react = commandDetails({
  args: {
    ...issueArgument,
    "<reaction>": "+1, -1, laugh, hooray, confused, heart, rocket or eyes",
  },
  flags: {
    "--comment <id>": "react to this comment instead of the issue",
    "--remove": "remove the reaction",
  },
  calls: [
    forge.addIssueReaction,
    forge.removeIssueReaction,
    forge.addCommentReaction,
    forge.removeCommentReaction,
  ],
  output: shape({ reaction: "string", given: "boolean" }),
  destructive: false,
  examples: [
    ["React to an issue", "croft issue react keeper/notes#7 rocket"],
    [
      "Take a reaction to a comment back",
      "croft issue react keeper/notes#7 +1 --comment 31 --remove",
    ],
  ],
  /** Adds a reaction to an issue or a comment, or removes it. */
  async run(cli, { issue, ...flags }) {
    const options = { ...issue, ...flags };
    const { owner, repo, index, reaction, comment, remove = false } = options;
    const body = { content: reaction };
    const toIssue = { params: { owner, repo, index }, body };
    const toComment = { params: { owner, repo, id: comment ?? "" }, body };
    if (comment === undefined && remove) await cli.client.call(forge.removeIssueReaction, toIssue);
    else if (comment === undefined) await cli.client.call(forge.addIssueReaction, toIssue);
    else if (remove) await cli.client.call(forge.removeCommentReaction, toComment);
    else await cli.client.call(forge.addCommentReaction, toComment);
    const text = remove ? `Removed ${reaction}.` : `Reacted with ${reaction}.`;
    await cli.output.done({ reaction, given: !remove }, text);
  },
});
