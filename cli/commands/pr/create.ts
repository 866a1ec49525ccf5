import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun, usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { editorFlag, editText } from "../../support/editor.ts";
import { readGit, runGit, toHelperWords } from "../../support/git.ts";
import { readTextFlags } from "../../support/input.ts";
import { addValue, addValues, findMilestoneId } from "../../support/issues.ts";
import { findIssueLabelIds } from "../../support/labels.ts";
import { openPage, toLogins } from "../../support/person.ts";
import { findOwnRepository, getCurrentBranch, pullLines } from "../../support/pulls.ts";
import {
  type RepositoryName,
  repositoryArgument,
  toRepositoryName,
} from "../../support/repository.ts";
import { commandDetails } from "../../tree/command.ts";
import { toRemoteUrl } from "../repo-clone.ts";
import { toReviewers } from "./edit.ts";

export const createPull = commandDetails({
  args: repositoryArgument,
  flags: {
    "-t, --title <text>": "the title; by default that of the commit, or the name of the branch",
    "-b, --body <text>": 'its text, as Markdown; "-" reads standard input',
    "-F, --body-file <file>": 'a file with its text; "-" reads standard input',
    "-f, --fill": "take title and text from the commits, without an editor",
    ...editorFlag,
    "-B, --base <branch>": "the branch to merge into; the default branch when it is left out",
    "-H, --head <branch>":
      "BRANCH, USER:BRANCH or OWNER/NAME:BRANCH; by default the current branch",
    "-d, --draft": "open it as a draft",
    "--no-push": "do not push the current branch first",
    "--no-maintainer-edit": "maintainers of the base may not push to the branch",
    "-a, --assignee <username>": {
      help: "assign this user, @me for you; may be repeated",
      parse: addValues,
    },
    "-r, --reviewer <name>": {
      help: "ask this person, or the team ORGANIZATION/TEAM, for a review; may be repeated",
      parse: addValues,
    },
    "-l, --label <name>": { help: "add this label; may be repeated", parse: addValue },
    "-m, --milestone <title>": "put it into this milestone",
    "-w, --web": "open its page in the browser",
  },
  calls: [
    forge.createPull,
    forge.getRepository,
    forge.listLabels,
    forge.listOrgLabels,
    forge.getMilestone,
    forge.getCurrentUser,
  ],
  output: resourceOf(forge.createPull, 201),
  examples: [
    [
      "Open a pull request from a branch of the repository",
      'croft pr create keeper/notes --head topic --title "Add a topic"',
    ],
    [
      "From a fork, as a draft",
      'croft pr create keeper/notes --head mira:topic --draft --title "Add a topic"',
    ],
  ],
  /** Pushes the current branch if that is the head, opens the pull request and prints it. */
  async run(cli, { repository: params, fill = false, draft = false, push, web = false, ...flags }) {
    if (fill && flags.title !== undefined)
      throw usageError("--fill and --title exclude each other");
    const base = flags.base ?? (await findDefaultBranch(cli, params));
    const head = flags.head ?? (await prepareHead(cli, params, push));
    const texts = flags.title === undefined ? await readCommits(cli, base, head) : undefined;
    const given = await readTextFlags(cli, flags);
    const suggested = { title: flags.title ?? texts?.title, body: given ?? texts?.body ?? "" };
    const isWritten = fill || flags.title !== undefined || given !== undefined;
    const { assignee, reviewer, label, milestone, maintainerEdit } = flags;
    const open = async ({ title, body }: Texts) => {
      if (title === undefined || title === "")
        throw new CliError("missing_input", "the title is missing: give --title");
      return cli.client.call(forge.createPull, {
        params,
        body: {
          head,
          base,
          title: draft ? `WIP: ${title}` : title,
          body,
          ...(maintainerEdit ? {} : { allow_maintainer_edit: false }),
          ...(assignee === undefined ? {} : { assignees: await toLogins(cli, assignee) }),
          ...(reviewer === undefined ? {} : toReviewers(reviewer)),
          ...(label === undefined ? {} : { labels: await findIssueLabelIds(cli, params, label) }),
          ...(milestone === undefined
            ? {}
            : { milestone: await findMilestoneId(cli, params, milestone) }),
        },
      });
    };
    const { body: pull } = await (isWritten
      ? open(suggested)
      : openEdited(cli, flags.editor, suggested, open));
    if (web) openPage(cli, pull.html_url);
    await cli.output.resource(pull, pullLines);
  },
});

async function findDefaultBranch(cli: CliContext, params: RepositoryName): Promise<string> {
  return (await cli.client.call(forge.getRepository, { params })).body.default_branch;
}

/** Pushes the current branch where the forge lacks its commits, and returns it as the head. */
async function prepareHead(
  cli: CliContext,
  base: RepositoryName,
  mayPush: boolean,
): Promise<string> {
  const branch = await getCurrentBranch(cli);
  const own = (await findOwnRepository(cli)) ?? `${base.owner}/${base.repo}`;
  const { body: repository } = await cli.client.call(forge.getRepository, {
    params: toRepositoryName(own),
  });
  const url = await toRemoteUrl(cli, repository, false);
  const helper = await toHelperWords(cli, (await cli.client.target()).url);
  const { out: commit } = await readGit(cli, ["rev-parse", "HEAD"]);
  const remote = await readGit(cli, [...helper, "ls-remote", "--", url, `refs/heads/${branch}`]);
  if (mayPush && remote.out.split("\t")[0] !== commit) {
    const words = ["push", "--", url, `HEAD:refs/heads/${branch}`];
    if (cli.flags.dryRun) throw new DryRun({ run: ["git", ...words] });
    await runGit(cli, [...helper, ...words]);
  }
  const isSame = own.toLowerCase() === `${base.owner}/${base.repo}`.toLowerCase();
  return isSame ? branch : `${own}:${branch}`;
}

interface Texts {
  readonly title: string | undefined;
  readonly body: string;
}

/**
 * Lets a person at a terminal edit title and text, the title in the first line, and opens the pull request with them. Without
 * an editor they stay as they are. When it cannot be opened, the edited text is kept in a file, and the error says where.
 */
async function openEdited<T>(
  cli: CliContext,
  editor: string | undefined,
  texts: Texts,
  open: (texts: Texts) => Promise<T>,
): Promise<T> {
  const { isInputTerminal, isOutputTerminal } = cli.io;
  const { env } = cli.system;
  const isAsked = cli.flags.input && isInputTerminal && isOutputTerminal;
  const program = editor ?? (isAsked ? (env["VISUAL"] ?? env["EDITOR"]) : undefined);
  if (program === undefined || program.trim() === "" || cli.flags.dryRun) return open(texts);
  const text = `${texts.title ?? ""}\n\n${texts.body}\n`;
  const opened = await editText(cli, { program, name: "PULL_REQUEST.md", text }, (written) => {
    const [title = "", ...lines] = written.split(/\r?\n/);
    return open({ title: title.trim(), body: lines.join("\n").trim() });
  });
  return opened ?? open(texts);
}

/** Longest list of commits that fills a text. */
const COMMITS_MAX = 100;

/**
 * Returns the title and text that the commits of the head suggest: those of the only commit, else the name of the branch and
 * the subjects; undefined where this folder does not have the commits.
 */
async function readCommits(
  cli: CliContext,
  base: string,
  head: string,
): Promise<{ readonly title: string; readonly body: string } | undefined> {
  const branch = head.slice(head.indexOf(":") + 1);
  for (const from of [`origin/${base}`, base]) {
    const range = [`--max-count=${COMMITS_MAX}`, "--reverse", `${from}..${branch}`, "--"];
    const { code, out } = await readGit(cli, ["log", "-z", "--format=%B", ...range]);
    if (code !== 0) continue;
    const messages = out
      .split("\0")
      .map((message) => message.trim())
      .filter((message) => message !== "");
    const [subject = "", ...rest] = (messages[0] ?? "").split("\n");
    if (subject === "") return undefined;
    if (messages.length === 1) return { title: subject, body: rest.join("\n").trim() };
    const title = branch.replace(/^.*\//, "").replace(/[-_]+/g, " ");
    const subjects = messages.map((message) => `- ${message.split("\n")[0] ?? ""}`);
    return { title: title.charAt(0).toUpperCase() + title.slice(1), body: subjects.join("\n") };
  }
  return undefined;
}
