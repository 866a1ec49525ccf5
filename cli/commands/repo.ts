import { forge } from "../client/operations.ts";
import { forgePages, forgeSearchPages } from "../client/paging.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { openPage } from "../support/person.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import { repositoryColumns, repositoryLines, repositoryArgument } from "../support/repository.ts";
import { type Entry, noun } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List repositories", {
    aliases: ["ls"],
    args: { "[owner]": "a user or organization; yours by default" },
    calls: [forge.listOwnRepositories, forge.listUserRepositories],
    output: listOf(forge.listOwnRepositories),
    examples: [
      ["List your repositories", "croft repo list"],
      [
        "List the private ones of an organization",
        "croft repo list acme --all --jq '.[] | select(.private) | .full_name'",
      ],
    ],
    /** Prints the repositories of an owner, or those that the caller owns or reaches, by name. */
    async run(cli, { owner }) {
      const pages =
        owner === undefined
          ? forgePages(cli.client, forge.listOwnRepositories, {})
          : forgePages(cli.client, forge.listUserRepositories, { params: { username: owner } });
      await cli.output.list(pages, repositoryColumns);
    },
  }),
  command("search", "Search the repositories that you may read", {
    args: { "[term]": "a part of the name; commas separate several terms" },
    flags: {
      "--description": "search descriptions, too",
      "--topic": "treat the term as the name of a topic",
      "--archived <true|false>": "only archived ones, or none of them",
      "--sort <by>": "alpha, created, updated, size, stars, forks or id",
      "--order <asc|desc>": "the direction",
    },
    calls: [forge.searchRepositories],
    output: listOf(forge.searchRepositories, "data"),
    examples: [
      ["Search repositories by name", "croft repo search notes"],
      ["List those that changed last", "croft repo search --sort updated --order desc --limit 5"],
    ],
    /** Prints the repositories that match. */
    async run(cli, options) {
      const { term = "", description, topic, sort, order, archived } = options;
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
    },
  }),
  command(
    "create",
    "Create a repository",
    async () => (await import("./repo-create.ts")).createRepo,
  ),
  command("clone", "Clone a repository", async () => (await import("./repo-clone.ts")).cloneRepo),
  command(
    "import",
    "Import a repository from another server",
    async () => (await import("./repo-import.ts")).importRepo,
  ),
  command(
    "import-status",
    "Show the progress of an import",
    async () => (await import("./repo-import.ts")).importStatus,
  ),
  command(
    "import-cancel",
    "End an import",
    async () => (await import("./repo-import.ts")).cancelImport,
  ),
  command(
    "import-resume",
    "Resume an import that failed or was cancelled",
    async () => (await import("./repo-import.ts")).resumeImport,
  ),
  command("fork", "Fork a repository", async () => (await import("./repo-fork.ts")).forkRepo),
  command(
    "forks",
    "List the forks of a repository",
    async () => (await import("./repo-fork.ts")).listForks,
  ),
  command(
    "sync",
    "Update a fork from its parent",
    async () => (await import("./repo-fork.ts")).syncFork,
  ),
  command("view", "Show a repository", {
    args: repositoryArgument,
    flags: { "-w, --web": "open its page in the browser" },
    calls: [forge.getRepository],
    output: resourceOf(forge.getRepository),
    examples: [
      ["Show a repository", "croft repo view keeper/notes"],
      ["Print the address to clone from", "croft repo view keeper/notes --jq .clone_url"],
    ],
    async run(cli, { repository: { owner, repo }, web = false }) {
      const { body } = await cli.client.call(forge.getRepository, { params: { owner, repo } });
      if (web) openPage(cli, body.html_url);
      await cli.output.resource(body, repositoryLines);
    },
  }),
  command("edit", "Edit a repository", async () => (await import("./repo-edit.ts")).editRepo),
  command("rename", "Rename a repository", async () => (await import("./repo-edit.ts")).renameRepo),
  command(
    "transfer",
    "Transfer a repository to another owner",
    async () => (await import("./repo-edit.ts")).transferRepo,
  ),
  command("delete", "Delete a repository", {
    aliases: ["rm"],
    args: repositoryArgument,
    calls: [forge.deleteRepository],
    output: shape({ deleted: "boolean", full_name: "string" }),
    destructive: true,
    examples: [
      ["Delete a repository", "croft repo delete keeper/notes --confirm keeper/notes"],
      ["Show the request only", "croft repo delete keeper/notes --dry-run"],
    ],
    /** Deletes a repository with its history. The name must be typed, because deletion is irreversible. */
    async run(cli, { repository: { owner, repo } }) {
      const name = `${owner}/${repo}`;
      await cli.prompts.confirm(`Delete the repository ${name} with its whole history?`, name);
      await cli.client.call(forge.deleteRepository, { params: { owner, repo } });
      await cli.output.done({ deleted: true, full_name: name }, `Deleted the repository ${name}.`);
    },
  }),
  command(
    "log",
    "List the commits of a branch",
    async () => (await import("./repo-log.ts")).repoLog,
  ),
  command("show", "Show a commit", async () => (await import("./repo-log.ts")).repoShow),
  command(
    "compare",
    "Compare two branches, tags or commits",
    async () => (await import("./repo-log.ts")).repoCompare,
  ),
  command(
    "browse",
    "List the files of a repository",
    async () => (await import("./repo-files.ts")).browseRepo,
  ),
  command("cat", "Print a file", async () => (await import("./repo-files.ts")).catFile),
  command(
    "archive",
    "Archive a repository: it becomes read-only",
    async () => (await import("./repo-edit.ts")).archiveRepo,
  ),
  command(
    "unarchive",
    "Make an archived repository writable again",
    async () => (await import("./repo-edit.ts")).unarchiveRepo,
  ),
  command(
    "download",
    "Download the files of a branch, tag or commit as an archive",
    async () => (await import("./repo-files.ts")).downloadRepo,
  ),
  command("star", "Star a repository", async () => (await import("./repo-star.ts")).starRepo),
  command(
    "unstar",
    "Remove your star from a repository",
    async () => (await import("./repo-star.ts")).unstarRepo,
  ),
  command(
    "starred",
    "List the repositories that you or another user starred",
    async () => (await import("./repo-star.ts")).listStarred,
  ),
  command(
    "stargazers",
    "List the users who starred a repository",
    async () => (await import("./repo-star.ts")).listStargazers,
  ),
  command("watch", "Watch a repository", async () => (await import("./repo-star.ts")).watchRepo),
  command(
    "unwatch",
    "Stop watching a repository",
    async () => (await import("./repo-star.ts")).unwatchRepo,
  ),
  command(
    "watched",
    "List the repositories that you or another user watch",
    async () => (await import("./repo-star.ts")).listWatched,
  ),
  command(
    "watchers",
    "List the users who watch a repository",
    async () => (await import("./repo-star.ts")).listWatchers,
  ),
  command(
    "languages",
    "Show the languages of a repository",
    async () => (await import("./repo-topic.ts")).showLanguages,
  ),
  noun("mirror", "Manage mirrors of a repository", () => import("./repo-mirror.ts")),
  noun("branch", "Manage branches of a repository", () => import("./repo-branch.ts")),
  noun("tag", "Manage tags of a repository", () => import("./repo-tag.ts")),
  noun("protection", "Manage rules that protect branches", () => import("./repo-protection.ts")),
  noun(
    "tag-protection",
    "Manage rules that protect tags",
    () => import("./repo-tag-protection.ts"),
  ),
  noun(
    "collaborator",
    "Manage users who may use a repository",
    () => import("./repo-collaborator.ts"),
  ),
  noun("avatar", "Manage the picture of a repository", () => import("./repo-avatar.ts")),
  noun("topic", "Manage topics of repositories", () => import("./repo-topic.ts")),
  noun("deploy-key", "Manage keys that open one repository", () => import("./repo-deploy-key.ts")),
  noun("hook", "Manage hooks of a repository", async () => ({
    entries: (await import("./hook/hook.ts")).repositoryEntries,
  })),
];
