import type { WireRepository } from "../../daemon/contract/forge/repositories/repositories.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { runGit, toHelperWords } from "../support/git.ts";
import {
  repositoryArgument,
  type RepositoryName,
  toRepositoryName,
} from "../support/repository.ts";
import type { CommandModule } from "../tree/entry.ts";

export interface RepoCloneOptions extends RepositoryName {
  /** The repository's name when absent. */
  readonly directory?: string;
  readonly ssh: boolean;
  /** Further words for `git clone`. */
  readonly gitFlags: readonly string[];
}

export const cloneRepo = {
  operations: [forge.getRepository],
  output: shape({ cloned: "boolean", full_name: "string", directory: "string", url: "string" }),
  writes: true,
  define(command, cli, run = runRepoClone): void {
    command
      .argument(...repositoryArgument)
      .argument("[directory]", "the new folder; by default the repository's name")
      .argument("[git-flags...]", "after --: flags of git clone, such as --depth 1")
      .option("--ssh", "clone over SSH")
      .action(
        (
          repository: string,
          directory: string | undefined,
          more: readonly string[],
          { ssh }: { readonly ssh?: true },
        ) => {
          // Without a directory, the first flag is parsed in its place.
          const isFlag = directory?.startsWith("-") === true;
          return run(cli, {
            ...toRepositoryName(repository),
            ...(directory === undefined || isFlag ? {} : { directory }),
            ssh: ssh === true,
            gitFlags: isFlag ? [directory, ...more] : more,
          });
        },
      );
  },
} satisfies CommandModule;

/** Clones a repository with the stored sign-in; git shows its progress on standard error. */
async function runRepoClone(cli: CliContext, options: RepoCloneOptions): Promise<void> {
  const { owner, repo, directory, ssh, gitFlags } = options;
  const { body } = await cli.client.call(forge.getRepository, { params: { owner, repo } });
  const target = directory ?? toFolderName(body);
  const url = await cloneRepository(cli, body, { target, ssh, gitFlags });
  await cli.output.done(
    { cloned: true, full_name: body.full_name, directory: target, url },
    `Cloned ${body.full_name} into ${target}.`,
  );
}

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
