// Stars and watches of repositories.
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import { listOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import { repositoryArgument, repositoryColumns, repositoryList } from "../support/repository.ts";
import { commandDetails } from "../tree/command.ts";

export const starRepo = commandDetails({
  args: repositoryArgument,
  calls: [forge.starRepository],
  output: shape({ starred: "boolean", full_name: "string" }),
  examples: [
    ["Star a repository", "croft repo star keeper/notes"],
    ["Show the request only", "croft repo star keeper/notes --dry-run"],
  ],
  async run(cli, { repository: { owner, repo } }) {
    const name = `${owner}/${repo}`;
    await cli.client.call(forge.starRepository, { params: { owner, repo } });
    await cli.output.done({ starred: true, full_name: name }, `Starred ${name}.`);
  },
});

export const unstarRepo = commandDetails({
  args: repositoryArgument,
  calls: [forge.unstarRepository],
  output: shape({ starred: "boolean", full_name: "string" }),
  /** Can be undone, so it needs no confirmation. The same holds for the end of a watch. */
  destructive: false,
  examples: [
    ["Take your star back", "croft repo unstar keeper/notes"],
    ["Show the request only", "croft repo unstar keeper/notes --dry-run"],
  ],
  /** Removes the star of a repository. */
  async run(cli, { repository: { owner, repo } }) {
    const name = `${owner}/${repo}`;
    await cli.client.call(forge.unstarRepository, { params: { owner, repo } });
    await cli.output.done({ starred: false, full_name: name }, `Removed the star from ${name}.`);
  },
});

export const watchRepo = commandDetails({
  args: repositoryArgument,
  calls: [forge.watchRepository],
  output: shape({ watching: "boolean", full_name: "string" }),
  examples: [
    ["Watch a repository", "croft repo watch keeper/notes"],
    ["Show the request only", "croft repo watch keeper/notes --dry-run"],
  ],
  async run(cli, { repository: { owner, repo } }) {
    const name = `${owner}/${repo}`;
    await cli.client.call(forge.watchRepository, { params: { owner, repo } });
    await cli.output.done({ watching: true, full_name: name }, `Watching ${name}.`);
  },
});

export const unwatchRepo = commandDetails({
  args: repositoryArgument,
  calls: [forge.unwatchRepository],
  output: shape({ watching: "boolean", full_name: "string" }),
  destructive: false,
  examples: [
    ["Stop watching", "croft repo unwatch keeper/notes"],
    ["Show the request only", "croft repo unwatch keeper/notes --dry-run"],
  ],
  /** Stops watching a repository. */
  async run(cli, { repository: { owner, repo } }) {
    const name = `${owner}/${repo}`;
    await cli.client.call(forge.unwatchRepository, { params: { owner, repo } });
    await cli.output.done({ watching: false, full_name: name }, `No longer watching ${name}.`);
  },
});

export const listStarred = commandDetails({
  args: { "[username]": "the user; you by default" },
  calls: [forge.listOwnStars, forge.listUserStars],
  output: listOf(forge.listOwnStars),
  examples: [
    ["List what you starred", "croft repo starred"],
    ["List what another user starred", "croft repo starred mira"],
  ],
  /** Prints the repositories that the caller or another user has starred, the latest first. */
  async run(cli, { username }) {
    const pages =
      username === undefined
        ? forgePages(cli.client, forge.listOwnStars, {})
        : forgePages(cli.client, forge.listUserStars, { params: { username } });
    await cli.output.list(pages, repositoryColumns);
  },
});

export const listWatched = commandDetails({
  args: { "[username]": "the user; you by default" },
  calls: [forge.listOwnWatched, forge.listUserWatched],
  output: listOf(forge.listOwnWatched),
  examples: [
    ["List what you watch", "croft repo watched"],
    ["List what another user watches", "croft repo watched mira"],
  ],
  /** Prints the repositories that the caller or another user watches, the latest first. */
  async run(cli, { username }) {
    const pages =
      username === undefined
        ? forgePages(cli.client, forge.listOwnWatched, {})
        : forgePages(cli.client, forge.listUserWatched, { params: { username } });
    await cli.output.list(pages, repositoryColumns);
  },
});

/** The users who have starred a repository. */
export const listStargazers = repositoryList(forge.listStargazers, personColumns, [
  ["List who starred a repository", "croft repo stargazers keeper/notes"],
  ["Print their names", "croft repo stargazers keeper/notes --all --jq '.[].login'"],
]);

/** The users who watch a repository. */
export const listWatchers = repositoryList(forge.listSubscribers, personColumns, [
  ["List who watches a repository", "croft repo watchers keeper/notes"],
  ["Print their names", "croft repo watchers keeper/notes --all --jq '.[].login'"],
]);
