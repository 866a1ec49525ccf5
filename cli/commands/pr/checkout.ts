import { forge } from "../../client/operations.ts";
import { CliError, DryRun } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { readGit, runGit, toHelperWords } from "../../support/git.ts";
import { findPullName, pullArgument } from "../../support/pulls.ts";
import { commandDetails } from "../../tree/command.ts";
import { toRemoteUrl } from "../repo-clone.ts";

export const checkoutPull = commandDetails({
  args: pullArgument,
  flags: {
    "-b, --branch <name>": "the local branch; by default the name that the branch has in the forge",
    "-f, --force": "reset an existing local branch to the pull request",
    "--detach": "check the commit out without a branch",
  },
  calls: [forge.listPulls, forge.getPull, forge.getRepository],
  output: shape({ branch: "string", commit: "string", number: "integer" }),
  writes: true,
  examples: [
    ["Switch to the branch of a pull request", "croft pr checkout keeper/notes#7"],
    ["Under another name", "croft pr checkout keeper/notes#7 --branch review"],
  ],
  /** Fetches the head of a pull request and switches to it; git shows its progress on standard error. */
  async run(cli, { branch: wanted, force = false, detach = false, ...flags }) {
    const params = await findPullName(cli, flags);
    const { body: pull } = await cli.client.call(forge.getPull, { params });
    const { body: repository } = await cli.client.call(forge.getRepository, { params });
    const url = await toRemoteUrl(cli, repository, false);
    const fetch = ["fetch", "--no-tags", "--", url, `refs/pull/${pull.number}/head`];
    if (cli.flags.dryRun) throw new DryRun({ run: ["git", ...fetch] });
    const isFork = pull.head.repo_id !== pull.base.repo_id;
    const label = pull.head.label === "" || isFork ? `pull-${pull.number}` : pull.head.label;
    const branch = toLocalBranch(wanted ?? label);
    const helper = await toHelperWords(cli, (await cli.client.target()).url);
    await runGit(cli, [...helper, ...fetch]);
    const exists =
      (await readGit(cli, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`])).code === 0;
    if (detach) await runGit(cli, ["switch", "--detach", "FETCH_HEAD"]);
    else if (!exists || force)
      await runGit(cli, ["switch", exists ? "-C" : "-c", branch, "FETCH_HEAD"]);
    else {
      await runGit(cli, ["switch", branch]);
      await runGit(cli, ["merge", "--ff-only", "FETCH_HEAD"]);
    }
    const { out: commit } = await readGit(cli, ["rev-parse", "HEAD"]);
    await cli.output.done(
      { branch: detach ? "" : branch, commit, number: pull.number },
      detach ? `Checked out ${commit}.` : `Switched to ${branch}.`,
    );
  },
});

/** Returns the name of a local branch. The server chose it, and git would take some for a flag. @throws CliError `unexpected_answer` */
function toLocalBranch(name: string): string {
  // oxlint-disable-next-line no-control-regex -- refuses control characters
  if (/^-|[\s~^:?*[\\\u0000-\u001f\u007f]|\.\.|\.lock$|\/$|^$/.test(name))
    throw new CliError("unexpected_answer", "the daemon sent an invalid branch name", {
      hint: "name the local branch with --branch",
    });
  return name;
}
