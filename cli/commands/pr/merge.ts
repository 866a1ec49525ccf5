import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { resourceOf, shape } from "../../output/spec.ts";
import { readTextFlags } from "../../support/input.ts";
import { openPage } from "../../support/person.ts";
import { findPullName, pullArgument, pullLines } from "../../support/pulls.ts";
import { waitUntilEnded } from "../../support/wait.ts";
import { commandDetails, type FlagValues } from "../../tree/command.ts";

const styleFlags = {
  "-m, --merge": "with a merge commit, which is the default",
  "-r, --rebase": "by applying its commits on top of the base",
  "--rebase-merge": "as --rebase, with a merge commit",
  "-s, --squash": "as one commit",
  "--fast-forward": "by moving the base to the head, if that is possible",
} as const;

export const mergePull = commandDetails({
  args: pullArgument,
  flags: {
    ...styleFlags,
    "-t, --subject <text>": "the first line of the message",
    "-b, --body <text>": 'the rest of the message; "-" reads standard input',
    "-F, --body-file <file>": 'a file with the rest of the message; "-" reads standard input',
    "-d, --delete-branch": "delete the branch afterwards",
    "--match-head-commit <sha>": "refuse to merge another head than this commit",
    "--auto": "merge when the required checks have succeeded",
    "--disable-auto": "cancel a merge that waits for checks",
    "--admin": "override the rules of the branch, if you may",
  },
  calls: [forge.listPulls, forge.createMerge, forge.deleteMerge],
  output: shape({ merged: "boolean", scheduled: "boolean", number: "string" }),
  destructive: false,
  examples: [
    ["Merge a pull request and delete its branch", "croft pr merge keeper/notes#7 --delete-branch"],
    [
      "As one commit, once its checks have succeeded",
      "croft pr merge keeper/notes#7 --squash --auto",
    ],
  ],
  async run(cli, { subject, auto = false, disableAuto = false, admin = false, ...flags }) {
    const { matchHeadCommit: head, deleteBranch } = flags;
    const style = toStyle(flags);
    const text = await readTextFlags(cli, flags);
    const params = await findPullName(cli, flags);
    const number = params.index;
    const name = `${params.owner}/${params.repo}#${number}`;
    if (disableAuto) {
      await cli.client.call(forge.deleteMerge, { params });
      const done = { merged: false, scheduled: false, number };
      return cli.output.done(done, `${name} no longer waits for its checks.`);
    }
    const body = {
      do: style,
      ...(subject === undefined ? {} : { merge_title_field: subject }),
      ...(text === undefined ? {} : { merge_message_field: text }),
      ...(head === undefined ? {} : { head_commit_id: head }),
      ...(deleteBranch === undefined ? {} : { delete_branch_after_merge: deleteBranch }),
      ...(auto ? { merge_when_checks_succeed: true } : {}),
      ...(admin ? { force_merge: true } : {}),
    };
    const status = await mergeOnceCompared(cli, name, async () => {
      const answer = await cli.client.call(forge.createMerge, { params, body });
      return answer.status;
    });
    const scheduled = status === 201;
    await cli.output.done(
      { merged: !scheduled, scheduled, number },
      scheduled ? `${name} is merged when its checks have succeeded.` : `Merged ${name}.`,
    );
  },
});

export const revertPull = commandDetails({
  args: pullArgument,
  flags: {
    "-B, --branch <name>": "the new branch; revert-NUMBER when it is left out",
    "-t, --title <text>": 'the title; by default Revert "TITLE"',
    "-b, --body <text>": 'its text, as Markdown; "-" reads standard input',
    "-F, --body-file <file>": 'a file with its text; "-" reads standard input',
    "-w, --web": "open its page in the browser",
  },
  calls: [forge.listPulls, forge.revertPull],
  output: resourceOf(forge.revertPull, 201),
  examples: [
    ["Take the changes of a merged pull request back", "croft pr revert keeper/notes#7"],
    [
      "On a branch of this name, and say why",
      'croft pr revert keeper/notes#7 --branch undo-topic --body "It broke the build."',
    ],
  ],
  /** Opens the pull request and prints it. */
  async run(cli, { branch, title, web = false, ...flags }) {
    const body = await readTextFlags(cli, flags);
    const params = await findPullName(cli, flags);
    const { body: pull } = await cli.client.call(forge.revertPull, {
      params,
      body: {
        ...(branch === undefined ? {} : { branch }),
        ...(title === undefined ? {} : { title }),
        ...(body === undefined ? {} : { body }),
      },
    });
    if (web) openPage(cli, pull.html_url);
    await cli.output.resource(pull, pullLines);
  },
});

/** Longest wait for git, which compares two branches in seconds. */
const COMPARISON_MS = 600_000;

/**
 * Merges, and waits as long as the server still compares the branches, as it does after each push and for a pull request that
 * was just opened. @throws CliError `not_finished` after ten minutes
 */
async function mergeOnceCompared<T>(
  cli: CliContext,
  name: string,
  merge: () => Promise<T>,
): Promise<T> {
  const attempt = async () => {
    try {
      return { done: await merge() };
    } catch (error) {
      return { error };
    }
  };
  const isCompared = (outcome: Awaited<ReturnType<typeof attempt>>) =>
    !("error" in outcome && isComparing(outcome.error));
  const first = await attempt();
  const outcome = isCompared(first)
    ? first
    : await waitUntilEnded(cli, {
        title: `the comparison of ${name} with its base`,
        timeout: COMPARISON_MS,
        // A merge whose answer is lost is not made twice: each failure but this one ends the wait.
        read: attempt,
        stateOf: () => "under way",
        hasEnded: isCompared,
        lookWith: `croft pr view ${name}`,
      });
  if ("error" in outcome) throw outcome.error;
  return outcome.done;
}

/** The server names the time after which to try again; it does not for a conflict. */
function isComparing(error: unknown): boolean {
  return (
    error instanceof CliError &&
    error.details.httpStatus === 405 &&
    error.details.retryAfterSeconds !== undefined
  );
}

/** @throws CliError `usage` for more than one style */
function toStyle(flags: FlagValues<typeof styleFlags>) {
  const styles = [
    flags.merge === true ? "merge" : undefined,
    flags.rebase === true ? "rebase" : undefined,
    flags.rebaseMerge === true ? "rebase-merge" : undefined,
    flags.squash === true ? "squash" : undefined,
    flags.fastForward === true ? "fast-forward-only" : undefined,
  ].filter((style) => style !== undefined);
  if (styles.length > 1)
    throw usageError(
      "--merge, --rebase, --rebase-merge, --squash and --fast-forward exclude each other",
    );
  return styles[0] ?? "merge";
}
