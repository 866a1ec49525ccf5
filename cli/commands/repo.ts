import { forge } from "../client/operations.ts";
import { forgePages, forgeSearchPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { openPage } from "../support/person.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import {
  repositoryColumns,
  repositoryLines,
  type RepositoryName,
  toRepositoryName,
} from "../support/repository.ts";
import { type CommandModule, type Entry, noun, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List repositories", () => listRepositories, { aliases: ["ls"] }),
  verb("search", "Search the repositories that you may read", () => searchRepos),
  verb("create", "Create a repository", async () => (await import("./repo-create.ts")).createRepo),
  verb("clone", "Clone a repository", async () => (await import("./repo-clone.ts")).cloneRepo),
  verb("view", "Show a repository", () => viewRepo),
  verb("edit", "Edit a repository", async () => (await import("./repo-edit.ts")).editRepo),
  verb("rename", "Rename a repository", async () => (await import("./repo-edit.ts")).renameRepo),
  verb(
    "transfer",
    "Transfer a repository to another owner",
    async () => (await import("./repo-edit.ts")).transferRepo,
  ),
  verb("delete", "Delete a repository", () => deleteRepo, { aliases: ["rm"] }),
  verb("log", "List the commits of a branch", async () => (await import("./repo-log.ts")).repoLog),
  verb("show", "Show a commit", async () => (await import("./repo-log.ts")).repoShow),
  verb(
    "compare",
    "Compare two branches, tags or commits",
    async () => (await import("./repo-log.ts")).repoCompare,
  ),
  verb(
    "browse",
    "List the files of a repository",
    async () => (await import("./repo-files.ts")).browseRepo,
  ),
  verb("cat", "Print a file", async () => (await import("./repo-files.ts")).catFile),
  verb(
    "archive",
    "Archive a repository: it becomes read-only",
    async () => (await import("./repo-edit.ts")).archiveRepo,
  ),
  verb(
    "unarchive",
    "Make an archived repository writable again",
    async () => (await import("./repo-edit.ts")).unarchiveRepo,
  ),
  verb(
    "download",
    "Download the files of a branch, tag or commit as an archive",
    async () => (await import("./repo-files.ts")).downloadRepo,
  ),
  verb("star", "Star a repository", async () => (await import("./repo-star.ts")).starRepo),
  verb(
    "unstar",
    "Remove your star from a repository",
    async () => (await import("./repo-star.ts")).unstarRepo,
  ),
  verb(
    "starred",
    "List the repositories that you or another user starred",
    async () => (await import("./repo-star.ts")).listStarred,
  ),
  verb(
    "stargazers",
    "List the users who starred a repository",
    async () => (await import("./repo-star.ts")).listStargazers,
  ),
  verb("watch", "Watch a repository", async () => (await import("./repo-star.ts")).watchRepo),
  verb(
    "unwatch",
    "Stop watching a repository",
    async () => (await import("./repo-star.ts")).unwatchRepo,
  ),
  verb(
    "watched",
    "List the repositories that you or another user watch",
    async () => (await import("./repo-star.ts")).listWatched,
  ),
  verb(
    "watchers",
    "List the users who watch a repository",
    async () => (await import("./repo-star.ts")).listWatchers,
  ),
  verb(
    "languages",
    "Show the languages of a repository",
    async () => (await import("./repo-topic.ts")).showLanguages,
  ),
  noun("branch", "Manage branches of a repository", () => import("./repo-branch.ts")),
  noun("tag", "Manage tags of a repository", () => import("./repo-tag.ts")),
  noun("protection", "Manage rules that protect branches", () => import("./repo-protection.ts")),
  noun(
    "collaborator",
    "Manage users who may use a repository",
    () => import("./repo-collaborator.ts"),
  ),
  noun("topic", "Manage topics of repositories", () => import("./repo-topic.ts")),
  noun("deploy-key", "Manage keys that open one repository", () => import("./repo-deploy-key.ts")),
  noun("hook", "Manage hooks of a repository", async () => ({
    entries: (await import("./hook/hook.ts")).repositoryEntries,
  })),
];

const listRepositories = {
  operations: [forge.listOwnRepositories, forge.listUserRepositories],
  output: listOf(forge.listOwnRepositories),
  define(command, cli, run = runRepoList): void {
    command
      .argument("[owner]", "a user or organization; yours by default")
      .action((owner: string | undefined) => run(cli, owner));
  },
} satisfies CommandModule;

/** Prints the repositories of an owner, or those that the caller owns or reaches, by name. */
async function runRepoList(cli: CliContext, owner: string | undefined): Promise<void> {
  const pages =
    owner === undefined
      ? forgePages(cli.client, forge.listOwnRepositories, {})
      : forgePages(cli.client, forge.listUserRepositories, { params: { username: owner } });
  await cli.output.list(pages, repositoryColumns);
}

interface RepoSearchOptions {
  readonly term: string;
  readonly description?: true;
  readonly topic?: true;
  readonly sort?: string;
  readonly order?: string;
  readonly archived?: string;
}

const searchRepos = {
  operations: [forge.searchRepositories],
  output: listOf(forge.searchRepositories, "data"),
  define(command, cli, run = runRepoSearch): void {
    command
      .argument("[term]", "a part of the name; commas separate several terms")
      .option("--description", "search descriptions, too")
      .option("--topic", "treat the term as the name of a topic")
      .option("--archived <true|false>", "only archived ones, or none of them")
      .option("--sort <by>", "alpha, created, updated, size or id")
      .option("--order <asc|desc>", "the direction")
      .action((term: string | undefined, flags: Omit<RepoSearchOptions, "term">) =>
        run(cli, { term: term ?? "", ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints the repositories that match. */
async function runRepoSearch(cli: CliContext, options: RepoSearchOptions): Promise<void> {
  const { term, description, topic, sort, order, archived } = options;
  const pages = forgeSearchPages(cli.client, forge.searchRepositories, {
    query: {
      q: term,
      includeDesc: description,
      topic,
      archived: readTrueOrFalse("--archived", archived),
      // `--order` only applies together with `--sort`.
      sort: sort ?? (order === undefined ? undefined : "alpha"),
      order,
    },
  });
  await cli.output.list(pages, repositoryColumns);
}

export const viewRepo = {
  operations: [forge.getRepository],
  output: resourceOf(forge.getRepository),
  define(command, cli, run = runRepoView): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .option("-w, --web", "open its page in the browser")
      .action((repository: string, flags: { readonly web?: boolean }) =>
        run(cli, { ...toRepositoryName(repository), ...flags }),
      );
  },
} satisfies CommandModule;

async function runRepoView(
  cli: CliContext,
  { owner, repo, web = false }: RepositoryName & { readonly web?: boolean },
): Promise<void> {
  const { body } = await cli.client.call(forge.getRepository, { params: { owner, repo } });
  if (web) openPage(cli, body.html_url);
  await cli.output.resource(body, repositoryLines);
}

export const deleteRepo = {
  operations: [forge.deleteRepository],
  output: shape({ deleted: "boolean", full_name: "string" }),
  destructive: true,
  define(command, cli, run = runRepoDelete): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Deletes a repository with its history. The name must be typed, because deletion is irreversible. */
async function runRepoDelete(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const name = `${owner}/${repo}`;
  await cli.prompts.confirm(`Delete the repository ${name} with its whole history?`, name);
  await cli.client.call(forge.deleteRepository, { params: { owner, repo } });
  await cli.output.done({ deleted: true, full_name: name }, `Deleted the repository ${name}.`);
}
