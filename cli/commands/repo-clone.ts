import type { WireRepository } from "../../daemon/contract/forge/repositories/repositories.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { runGit, toHelperWords } from "../support/git.ts";
import { repositoryArgument } from "../support/repository.ts";
import { commandDetails } from "../tree/command.ts";

export const cloneRepo = commandDetails({
  args: {
    ...repositoryArgument,
    "[directory]": "the new folder; by default the repository's name",
    "[git-flags...]": "after --: flags of git clone, such as --depth 1",
  },
  flags: { "--ssh": "clone over SSH" },
  calls: [forge.getRepository],
  output: shape({ cloned: "boolean", full_name: "string", directory: "string", url: "string" }),
  writes: true,
  examples: [
    ["Clone a repository", "croft repo clone keeper/notes"],
    [
      "Clone the latest commit only, into another folder",
      "croft repo clone keeper/notes copy -- --depth 1",
    ],
  ],
  /** Clones a repository with the stored sign-in; git shows its progress on standard error. */
  async run(cli, { repository: params, directory, gitFlags: more, ssh = false }) {
    // Without a directory, the first flag is parsed in its place.
    const isFlag = directory?.startsWith("-") === true;
    const gitFlags = isFlag ? [directory, ...more] : more;
    const { body } = await cli.client.call(forge.getRepository, { params });
    const target = directory === undefined || isFlag ? toFolderName(body) : directory;
    const url = await cloneRepository(cli, body, { target, ssh, gitFlags });
    await cli.output.done(
      { cloned: true, full_name: body.full_name, directory: target, url },
      `Cloned ${body.full_name} into ${target}.`,
    );
  },
});

interface CloneOptions {
  readonly target: string;
  readonly ssh: boolean;
  readonly gitFlags?: readonly string[];
}

/** Clones with git and returns the address. @throws CliError `git_failed` */
export async function cloneRepository(
  cli: CliContext,
  repository: WireRepository,
  { target, ssh, gitFlags = [] }: CloneOptions,
): Promise<string> {
  const url = await toRemoteUrl(cli, repository, ssh);
  const quiet = cli.flags.quiet ? ["--quiet"] : [];
  const words = ["clone", ...quiet, ...gitFlags, "--", url, target];
  if (cli.flags.dryRun) throw new DryRun({ run: ["git", ...words] });
  const helper = await toHelperWords(cli, (await cli.client.target()).url);
  await runGit(cli, [...helper, ...words]);
  return url;
}

/** Returns the folder of a clone. The name is the server's, and git would create any path. @throws CliError `unexpected_answer` */
export function toFolderName({ name }: WireRepository): string {
  if (/^[\w.-]+$/.test(name) && !/^(?:-|\.{1,2}$)/.test(name)) return name;
  throw new CliError("unexpected_answer", "the daemon sent an invalid repository name", {
    hint: "name a folder for the clone",
  });
}

/**
 * Returns the address for git. Over http this is the address at which this command line reaches the daemon, because
 * the credentials belong to it; `clone_url` may name another one. @throws CliError `unsupported` when the daemon serves
 * no SSH
 */
export async function toRemoteUrl(
  cli: CliContext,
  { full_name: fullName, ssh_url: sshUrl }: WireRepository,
  ssh: boolean,
): Promise<string> {
  if (!ssh) return `${(await cli.client.target()).url}/${fullName}.git`;
  if (sshUrl === "")
    throw new CliError("unsupported", "the daemon serves no SSH", {
      hint: "leave out --ssh",
    });
  // The server chose the text, and git would run a program for an address such as ext::command.
  if (!/^(?:ssh:\/\/|[\w.-]+@[\w.[\]:-]+:)[^\s]+$/.test(sshUrl) || sshUrl.includes("::"))
    throw new CliError("unexpected_answer", "the daemon sent an invalid SSH address");
  return sshUrl;
}
