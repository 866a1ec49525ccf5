import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import { type IssueName, toIssueName } from "../../support/repository.ts";
import type { CommandModule } from "../../tree/entry.ts";

const issueArgument = ["<issue>", "the issue as OWNER/NAME#NUMBER"] as const;
const toText = ({ owner, repo, index }: IssueName) => `${owner}/${repo}#${index}`;

interface IssueLockOptions extends IssueName {
  readonly reason?: string;
}

export const lockIssue = {
  operations: [forge.lockIssue],
  output: shape({ locked: "boolean", issue: "string" }),
  define(command, cli, run = runLock): void {
    command
      .argument(...issueArgument)
      .option("--reason <text>", "why: off-topic, too heated, resolved or spam, or any text")
      .action((issue: string, flags: { readonly reason?: string }) =>
        run(cli, { ...toIssueName(issue), ...flags }),
      );
  },
} satisfies CommandModule;

/** Locks an issue, so that only users with write access comment. */
async function runLock(cli: CliContext, { reason, ...params }: IssueLockOptions): Promise<void> {
  const body = reason === undefined ? {} : { lock_reason: reason };
  await cli.client.call(forge.lockIssue, { params, body });
  const issue = toText(params);
  await cli.output.done({ locked: true, issue }, `Locked ${issue}.`);
}

export const unlockIssue = {
  operations: [forge.unlockIssue],
  output: shape({ locked: "boolean", issue: "string" }),
  destructive: false,
  define(command, cli, run = runUnlock): void {
    command.argument(...issueArgument).action((issue: string) => run(cli, toIssueName(issue)));
  },
} satisfies CommandModule;

async function runUnlock(cli: CliContext, params: IssueName): Promise<void> {
  await cli.client.call(forge.unlockIssue, { params });
  const issue = toText(params);
  await cli.output.done({ locked: false, issue }, `Unlocked ${issue}.`);
}

export const pinIssue = {
  operations: [forge.pinIssue],
  output: shape({ pinned: "boolean", issue: "string" }),
  define(command, cli, run = runPin): void {
    command.argument(...issueArgument).action((issue: string) => run(cli, toIssueName(issue)));
  },
} satisfies CommandModule;

/** Pins an issue of a repository, which has at most three. */
async function runPin(cli: CliContext, params: IssueName): Promise<void> {
  await cli.client.call(forge.pinIssue, { params });
  const issue = toText(params);
  await cli.output.done({ pinned: true, issue }, `Pinned ${issue}.`);
}

export const unpinIssue = {
  operations: [forge.unpinIssue],
  output: shape({ pinned: "boolean", issue: "string" }),
  destructive: false,
  define(command, cli, run = runUnpin): void {
    command.argument(...issueArgument).action((issue: string) => run(cli, toIssueName(issue)));
  },
} satisfies CommandModule;

async function runUnpin(cli: CliContext, params: IssueName): Promise<void> {
  await cli.client.call(forge.unpinIssue, { params });
  const issue = toText(params);
  await cli.output.done({ pinned: false, issue }, `Unpinned ${issue}.`);
}

export const deleteIssue = {
  operations: [forge.deleteIssue],
  output: shape({ deleted: "boolean", issue: "string" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    command.argument(...issueArgument).action((issue: string) => run(cli, toIssueName(issue)));
  },
} satisfies CommandModule;

async function runDelete(cli: CliContext, params: IssueName): Promise<void> {
  const issue = toText(params);
  await cli.prompts.confirm(`Delete ${issue} with its comments?`);
  await cli.client.call(forge.deleteIssue, { params });
  await cli.output.done({ deleted: true, issue }, `Deleted ${issue}.`);
}

interface ReactOptions extends IssueName {
  readonly reaction: string;
  /** The id of a comment; the issue itself when absent. */
  readonly comment?: string;
  readonly remove?: boolean;
}

export const react = {
  operations: [
    forge.addIssueReaction,
    forge.removeIssueReaction,
    forge.addCommentReaction,
    forge.removeCommentReaction,
  ],
  output: shape({ reaction: "string", given: "boolean" }),
  destructive: false,
  define(command, cli, run = runReact): void {
    command
      .argument(...issueArgument)
      .argument("<reaction>", "+1, -1, laugh, hooray, confused, heart, rocket or eyes")
      .option("--comment <id>", "react to this comment instead of the issue")
      .option("--remove", "remove the reaction")
      .action((issue: string, reaction: string, flags: Omit<ReactOptions, "reaction">) =>
        run(cli, { ...toIssueName(issue), ...flags, reaction }),
      );
  },
} satisfies CommandModule;

/** Adds a reaction to an issue or a comment, or removes it. */
async function runReact(cli: CliContext, options: ReactOptions): Promise<void> {
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
}
