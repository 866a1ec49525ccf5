import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { readGit, runGit, toHelperWords } from "../../support/git.ts";
import { findOwnRepository } from "../../support/pulls.ts";
import { issueArgument } from "../../support/repository.ts";
import { commandDetails } from "../../tree/command.ts";
import { toRemoteUrl } from "../repo-clone.ts";

export const developIssue = commandDetails({
  args: issueArgument,
  flags: {
    "-n, --name <branch>": "the name of the branch; by default the number and title of the issue",
    "-b, --base <branch>": "the branch to begin with; the default branch when it is left out",
    "--no-checkout": "do not switch to the branch",
  },
  calls: [forge.getIssue, forge.getRepository, forge.createBranch],
  output: shape({ branch: "string", checked_out: "boolean", issue: "integer" }),
  examples: [
    ["Make a branch for an issue and switch to it", "croft issue develop keeper/notes#7"],
    [
      "Under another name, in the forge only",
      "croft issue develop keeper/notes#7 --name mend --no-checkout",
    ],
  ],
  /** Makes a branch in the forge and, in a clone of the repository, switches to it. */
  async run(cli, { issue: params, name, base, checkout }) {
    if (name?.startsWith("-") === true) throw usageError(`${name} is not the name of a branch`);
    const { owner, repo } = params;
    const { body: issue } = await cli.client.call(forge.getIssue, { params });
    const { body: repository } = await cli.client.call(forge.getRepository, {
      params: { owner, repo },
    });
    const branch = name ?? toBranchName(issue);
    const from = base ?? repository.default_branch;
    await cli.client.call(forge.createBranch, {
      params: { owner, repo },
      body: { new_branch_name: branch, old_ref_name: `refs/heads/${from}` },
    });
    const own = checkout ? await findOwnRepository(cli) : undefined;
    const isHere = own?.toLowerCase() === repository.full_name.toLowerCase();
    if (isHere) await switchTo(cli, await toRemoteUrl(cli, repository, false), branch);
    await cli.output.done(
      { branch, checked_out: isHere, issue: issue.number },
      isHere ? `Switched to ${branch}.` : `Made the branch ${branch}.`,
    );
  },
});

/** Longest name of a branch that a title gives, in characters. */
const NAME_CHARACTERS_MAX = 60;

/** Returns `7-the-build-fails` for the title "The build fails". */
function toBranchName({ number, title }: { readonly number: number; readonly title: string }) {
  const words = title
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-");
  return `${number}-${words}`.slice(0, NAME_CHARACTERS_MAX).replace(/-+$/, "");
}

async function switchTo(cli: CliContext, url: string, branch: string): Promise<void> {
  const helper = await toHelperWords(cli, (await cli.client.target()).url);
  const { code, out } = await readGit(cli, ["remote", "get-url", "origin"]);
  // A branch of the remote is followed by later pulls.
  if (code === 0 && out.replace(/\.git$/, "") === url.replace(/\.git$/, "")) {
    const ref = `refs/heads/${branch}:refs/remotes/origin/${branch}`;
    await runGit(cli, [...helper, "fetch", "--no-tags", "origin", ref]);
    await runGit(cli, ["switch", "-c", branch, "--track", `origin/${branch}`]);
    return;
  }
  await runGit(cli, [...helper, "fetch", "--no-tags", "--", url, `refs/heads/${branch}`]);
  await runGit(cli, ["switch", "-c", branch, "FETCH_HEAD"]);
}
