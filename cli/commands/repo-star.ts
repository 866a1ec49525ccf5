// Stars and watches of repositories.
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { listOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import {
  repositoryArgument,
  repositoryColumns,
  type RepositoryName,
  toRepositoryName,
  createRepositoryList,
} from "../support/repository.ts";
import type { CommandModule } from "../tree/entry.ts";

export const starRepo = {
  operations: [forge.starRepository],
  output: shape({ starred: "boolean", full_name: "string" }),
  define(command, cli, run = runStar): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

async function runStar(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const name = `${owner}/${repo}`;
  await cli.client.call(forge.starRepository, { params: { owner, repo } });
  await cli.output.done({ starred: true, full_name: name }, `Starred ${name}.`);
}

export const unstarRepo = {
  operations: [forge.unstarRepository],
  output: shape({ starred: "boolean", full_name: "string" }),
  /** Can be undone, so it needs no confirmation. The same holds for the end of a watch. */
  destructive: false,
  define(command, cli, run = runUnstar): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Removes the star of a repository. */
async function runUnstar(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const name = `${owner}/${repo}`;
  await cli.client.call(forge.unstarRepository, { params: { owner, repo } });
  await cli.output.done({ starred: false, full_name: name }, `Removed the star from ${name}.`);
}

export const watchRepo = {
  operations: [forge.watchRepository],
  output: shape({ watching: "boolean", full_name: "string" }),
  define(command, cli, run = runWatch): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

async function runWatch(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const name = `${owner}/${repo}`;
  await cli.client.call(forge.watchRepository, { params: { owner, repo } });
  await cli.output.done({ watching: true, full_name: name }, `Watching ${name}.`);
}

export const unwatchRepo = {
  operations: [forge.unwatchRepository],
  output: shape({ watching: "boolean", full_name: "string" }),
  destructive: false,
  define(command, cli, run = runUnwatch): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Stops watching a repository. */
async function runUnwatch(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const name = `${owner}/${repo}`;
  await cli.client.call(forge.unwatchRepository, { params: { owner, repo } });
  await cli.output.done({ watching: false, full_name: name }, `No longer watching ${name}.`);
}

export const listStarred = {
  operations: [forge.listOwnStars, forge.listUserStars],
  output: listOf(forge.listOwnStars),
  define(command, cli, run = runStarred): void {
    command
      .argument("[username]", "the user; you by default")
      .action((username: string | undefined) => run(cli, username));
  },
} satisfies CommandModule;

/** Prints the repositories that the caller or another user has starred, the latest first. */
async function runStarred(cli: CliContext, username: string | undefined): Promise<void> {
  const pages =
    username === undefined
      ? forgePages(cli.client, forge.listOwnStars, {})
      : forgePages(cli.client, forge.listUserStars, { params: { username } });
  await cli.output.list(pages, repositoryColumns);
}

export const listWatched = {
  operations: [forge.listOwnWatched, forge.listUserWatched],
  output: listOf(forge.listOwnWatched),
  define(command, cli, run = runWatched): void {
    command
      .argument("[username]", "the user; you by default")
      .action((username: string | undefined) => run(cli, username));
  },
} satisfies CommandModule;

/** Prints the repositories that the caller or another user watches, the latest first. */
async function runWatched(cli: CliContext, username: string | undefined): Promise<void> {
  const pages =
    username === undefined
      ? forgePages(cli.client, forge.listOwnWatched, {})
      : forgePages(cli.client, forge.listUserWatched, { params: { username } });
  await cli.output.list(pages, repositoryColumns);
}

/** The users who have starred a repository. */
export const listStargazers = createRepositoryList(forge.listStargazers, personColumns);

/** The users who watch a repository. */
export const listWatchers = createRepositoryList(forge.listSubscribers, personColumns);
