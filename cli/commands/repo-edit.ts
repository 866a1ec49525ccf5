import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { resourceOf } from "../output/spec.ts";
import { addValues } from "../support/issues.ts";
import { readTrueOrFalse, toChoice } from "../support/flag-values.ts";
import { repositoryLines, type RepositoryName, toRepositoryName } from "../support/repository.ts";
import type { CommandModule } from "../tree/entry.ts";

/** Undefined members stay as they are. */
export interface RepoEditOptions extends RepositoryName {
  readonly description?: string;
  readonly website?: string;
  readonly private?: string;
  readonly asTemplate?: string;
  readonly defaultBranch?: string;
  readonly archived?: string;
  readonly addTopic?: readonly string[];
  readonly removeTopic?: readonly string[];
}

type RepoEditFlags = Omit<RepoEditOptions, keyof RepositoryName> & {
  /** gh's word for the website. */
  readonly homepage?: string;
  /** gh's way to say `--private true|false`. */
  readonly visibility?: string;
};

const toVisibility = (value: string) => toChoice("--visibility", ["public", "private"], value);

export const editRepo = {
  operations: [forge.editRepository, forge.addTopic, forge.deleteTopic],
  destructive: false,
  output: resourceOf(forge.editRepository),
  define(command, cli, run = runRepoEdit): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .option("-d, --description <text>", "the description; empty to clear it")
      .addOption(command.createOption("--homepage <url>", "the same as --website").hideHelp())
      .option("--visibility <visibility>", "public or private", toVisibility)
      .option("--add-topic <name>", "add this topic; may be repeated", addValues)
      .option("--remove-topic <name>", "remove this topic; may be repeated", addValues)
      .option("--website <url>", "its website; empty to clear it")
      .option(
        "--private <true|false>",
        "whether only its owner, collaborators and administrators see it",
      )
      .option("--as-template <true|false>", "whether it is a template repository")
      .option("--default-branch <name>", "the branch that clones begin with")
      .option(
        "--archived <true|false>",
        "whether it is archived and takes no pushes, issues or comments",
      )
      .action((repository: string, { homepage, visibility, ...rest }: RepoEditFlags) => {
        if (visibility !== undefined && rest.private !== undefined)
          throw usageError("--visibility and --private exclude each other");
        const flags = {
          ...rest,
          ...(homepage === undefined ? {} : { website: homepage }),
          ...(visibility === undefined ? {} : { private: String(visibility === "private") }),
        };
        if (Object.values(flags).every((value) => value === undefined))
          throw usageError(
            "nothing to change",
            "give at least one flag of those that --help lists",
          );
        return run(cli, { ...toRepositoryName(repository), ...flags });
      });
  },
} satisfies CommandModule;

/** Changes a repository and prints it. */
async function runRepoEdit(cli: CliContext, options: RepoEditOptions): Promise<void> {
  const { owner, repo, description, website, defaultBranch, addTopic = [] } = options;
  for (const topic of addTopic)
    await cli.client.call(forge.addTopic, { params: { owner, repo, topic } });
  for (const topic of options.removeTopic ?? [])
    await cli.client.call(forge.deleteTopic, { params: { owner, repo, topic } });
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

export const renameRepo = {
  operations: [forge.editRepository],
  output: resourceOf(forge.editRepository),
  define(command, cli, run = runRepoRename): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .argument("<new-name>", "the new name; the old one redirects to it")
      .action((repository: string, newName: string) =>
        run(cli, { ...toRepositoryName(repository), newName }),
      );
  },
} satisfies CommandModule;

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

export const transferRepo = {
  operations: [forge.transferRepository, forge.acceptTransfer, forge.rejectTransfer],
  output: resourceOf(forge.acceptTransfer, 202),
  define(command, cli, run = runRepoTransfer): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .argument("[new-owner]", "the user or organization that gets it, or is offered it")
      .option("--accept", "accept a repository that is offered to you")
      .option("--reject", "reject a repository that is offered to you, or withdraw your own offer")
      .action(
        (
          repository: string,
          newOwner: string | undefined,
          flags: Pick<RepoTransferOptions, "accept" | "reject">,
        ) =>
          run(cli, {
            ...toRepositoryName(repository),
            ...(newOwner === undefined ? {} : { newOwner }),
            ...flags,
          }),
      );
  },
} satisfies CommandModule;

/** Transfers a repository, or accepts or rejects an offered one, and prints the result. */
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

export const archiveRepo = {
  operations: [forge.editRepository],
  output: resourceOf(forge.editRepository),
  destructive: true,
  define(command, cli, run = runRepoArchive): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .action((repository: string) => run(cli, toRepositoryName(repository), true));
  },
} satisfies CommandModule;

export const unarchiveRepo = {
  ...archiveRepo,
  define(command, cli, run = runRepoArchive): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .action((repository: string) => run(cli, toRepositoryName(repository), false));
  },
} satisfies CommandModule;

/** Archives a repository, or makes it writable again, and prints it. As in gh, both must be confirmed. */
async function runRepoArchive(
  cli: CliContext,
  { owner, repo }: RepositoryName,
  archived: boolean,
): Promise<void> {
  await cli.prompts.confirm(`${archived ? "Archive" : "Unarchive"} ${owner}/${repo}?`);
  const { body } = await cli.client.call(forge.editRepository, {
    params: { owner, repo },
    body: { archived },
  });
  await cli.output.resource(body, repositoryLines);
}
