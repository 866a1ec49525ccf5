import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import {
  repositoryColumns,
  repositoryLines,
  type RepositoryName,
  toRepositoryName,
} from "../support/repository.ts";
import { type CommandModule, type Entry, noun, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your repositories", () => listRepositories, { aliases: ["ls"] }),
  verb("view", "Show a repository", () => viewRepo),
  verb("edit", "Edit a repository", () => editRepo),
  verb("rename", "Rename a repository", () => renameRepo),
  verb("transfer", "Transfer a repository to another owner", () => transferRepo),
  verb("delete", "Delete a repository", () => deleteRepo, { aliases: ["rm"] }),
  noun("hook", "Manage hooks of a repository", async () => ({
    entries: (await import("./hook/hook.ts")).repositoryEntries,
  })),
];

const listRepositories = {
  operations: [forge.listOwnRepositories],
  output: listOf(forge.listOwnRepositories),
  define(command, cli, run = runRepoList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the repositories that the caller owns or reaches through an organization, by name. */
async function runRepoList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listOwnRepositories, {}), repositoryColumns);
}

export const viewRepo = {
  operations: [forge.getRepository],
  output: resourceOf(forge.getRepository),
  define(command, cli, run = runRepoView): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .action((given: string) => run(cli, toRepositoryName(given)));
  },
} satisfies CommandModule;

/** Prints one repository. */
async function runRepoView(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const { body } = await cli.client.call(forge.getRepository, { params: { owner, repo } });
  await cli.output.resource(body, repositoryLines);
}

/** Undefined members stay as they are. */
export interface RepoEditOptions extends RepositoryName {
  readonly description?: string;
  readonly website?: string;
  readonly private?: string;
  readonly asTemplate?: string;
  readonly defaultBranch?: string;
  readonly archived?: string;
}

export const editRepo = {
  operations: [forge.editRepository],
  output: resourceOf(forge.editRepository),
  define(command, cli, run = runRepoEdit): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .option("--description <text>", "what it is for; empty to clear it")
      .option("--website <url>", "its website; empty to clear it")
      .option("--private <true|false>", "whether only its owner and administrators see it")
      .option("--as-template <true|false>", "whether others may begin from it")
      .option("--default-branch <name>", "the branch that clones begin with")
      .option("--archived <true|false>", "whether it takes no more pushes, issues and comments")
      .action((given: string, flags: Omit<RepoEditOptions, keyof RepositoryName>) => {
        if (Object.values(flags).every((value) => value === undefined))
          throw usageError(
            "nothing to change",
            "give at least one flag of those that --help lists",
          );
        return run(cli, { ...toRepositoryName(given), ...flags });
      });
  },
} satisfies CommandModule;

/** Changes a repository and prints it. */
async function runRepoEdit(cli: CliContext, options: RepoEditOptions): Promise<void> {
  const { owner, repo, description, website, defaultBranch } = options;
  const { body } = await cli.client.call(forge.editRepository, {
    params: { owner, repo },
    body: {
      description,
      website,
      private: readTrueOrFalse("--private", options.private),
      template: readTrueOrFalse("--as-template", options.asTemplate),
      default_branch: defaultBranch,
      archived: readTrueOrFalse("--archived", options.archived),
    },
  });
  await cli.output.resource(body, repositoryLines);
}

interface RepoRenameOptions extends RepositoryName {
  readonly newName: string;
}

const renameRepo = {
  operations: [forge.editRepository],
  output: resourceOf(forge.editRepository),
  define(command, cli, run = runRepoRename): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .argument("<new-name>", "the name from now on; the old one leads to it")
      .action((given: string, newName: string) =>
        run(cli, { ...toRepositoryName(given), newName }),
      );
  },
} satisfies CommandModule;

/** Renames a repository and prints it. */
async function runRepoRename(
  cli: CliContext,
  { owner, repo, newName }: RepoRenameOptions,
): Promise<void> {
  const { body } = await cli.client.call(forge.editRepository, {
    params: { owner, repo },
    body: { name: newName },
  });
  await cli.output.resource(body, repositoryLines);
}

interface RepoTransferOptions extends RepositoryName {
  readonly newOwner?: string;
  readonly accept?: true;
  readonly reject?: true;
}

const transferRepo = {
  operations: [forge.transferRepository, forge.acceptTransfer, forge.rejectTransfer],
  output: resourceOf(forge.acceptTransfer, 202),
  define(command, cli, run = runRepoTransfer): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .argument("[new-owner]", "the user or organization that gets it, or is offered it")
      .option("--accept", "take what is offered to you")
      .option("--reject", "reject what is offered to you, or take your own offer back")
      .action(
        (
          given: string,
          newOwner: string | undefined,
          options: Pick<RepoTransferOptions, "accept" | "reject">,
        ) =>
          run(cli, {
            ...toRepositoryName(given),
            ...(newOwner === undefined ? {} : { newOwner }),
            ...options,
          }),
      );
  },
} satisfies CommandModule;

/** Gives a repository to another owner, or answers an offer, and prints the repository as it is then. */
async function runRepoTransfer(
  cli: CliContext,
  { owner, repo, newOwner, accept, reject }: RepoTransferOptions,
): Promise<void> {
  const params = { owner, repo };
  if ([newOwner, accept, reject].filter((each) => each !== undefined).length > 1)
    throw usageError("a new owner, --accept and --reject exclude each other");
  if (accept !== undefined || reject !== undefined) {
    const { body } =
      accept === undefined
        ? await cli.client.call(forge.rejectTransfer, { params })
        : await cli.client.call(forge.acceptTransfer, { params });
    return cli.output.resource(body, repositoryLines);
  }
  if (newOwner === undefined)
    throw new CliError("missing_input", "name the new owner, or give --accept or --reject");
  const { status, body } = await cli.client.call(forge.transferRepository, {
    params,
    body: { new_owner: newOwner },
  });
  if (status === 201) cli.io.note(`${newOwner} must accept it: croft repo transfer --accept`);
  await cli.output.resource(body, repositoryLines);
}

export const deleteRepo = {
  operations: [forge.deleteRepository],
  output: shape({ deleted: "boolean", full_name: "string" }),
  destructive: true,
  define(command, cli, run = runRepoDelete): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .action((given: string) => run(cli, toRepositoryName(given)));
  },
} satisfies CommandModule;

/** Deletes a repository with its history; its name must be typed, because nothing brings it back. */
async function runRepoDelete(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const name = `${owner}/${repo}`;
  await cli.prompts.confirm(`Delete the repository ${name} with its whole history?`, name);
  await cli.client.call(forge.deleteRepository, { params: { owner, repo } });
  await cli.output.done({ deleted: true, full_name: name }, `Deleted the repository ${name}.`);
}
