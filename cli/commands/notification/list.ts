import type { WireThread } from "../../../daemon/contract/forge/notifications.ts";
import { followThreads } from "../../client/follow-threads.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { type PageSource, readPages } from "../../output/pages.ts";
import { listOf } from "../../output/spec.ts";
import { nameCommit, namingCommits } from "../../support/commit-threads.ts";
import { toChoice } from "../../support/flag-values.ts";
import { toRepositoryName } from "../../support/repository.ts";
import {
  threadColumns,
  type ThreadStatusName,
  toStatusName,
} from "../../support/thread-columns.ts";
import { commandDetails, type FlagValues } from "../../tree/command.ts";

type SubjectName = "issue" | "pull" | "commit" | "repository";

const toStatus = toStatusName("--status");

const listFlags = {
  "--status <status>": {
    help: "unread, read or pinned; may be repeated; unread and pinned when absent",
    parse: (value: string, previous?: readonly ThreadStatusName[]) => [
      ...(previous ?? []),
      toStatus(value),
    ],
  },
  "--type <type>": {
    help: "issue, pull, commit or repository; may be repeated",
    parse: (value: string, previous?: readonly SubjectName[]) => [
      ...(previous ?? []),
      toSubjectName(value),
    ],
  },
  "--repo <repository>": "only threads of this repository, as OWNER/NAME",
  "--since <time>": "changed at this time or later, such as 2026-11-21T12:00:00Z",
  "--before <time>": "changed at this time or earlier",
  "-f, --follow": "print new and changed threads as they arrive; --ndjson for scripts",
} as const;

export const listNotifications = commandDetails({
  flags: listFlags,
  calls: [
    forge.listNotifications,
    forge.listRepositoryNotifications,
    forge.streamNotifications,
    forge.getCommit,
    forge.getCombinedStatus,
  ],
  output: listOf(forge.listNotifications),
  examples: [
    ["List unread and pinned threads", "croft notification list"],
    [
      "List unread threads of a repository",
      "croft notification list --status unread --repo keeper/notes",
    ],
  ],
  run: printThreads,
});

/**
 * Prints the caller's threads, the last changed first; with `follow` the last changed last, followed by new ones as
 * they arrive.
 */
export async function printThreads(
  cli: CliContext,
  { status, type, repo, since, before, follow }: FlagValues<typeof listFlags>,
): Promise<void> {
  if (follow === true && before !== undefined)
    throw usageError("--follow and --before exclude each other");
  const query = {
    ...(status === undefined ? {} : { "status-types": [...status] }),
    ...(type === undefined ? {} : { "subject-type": [...type] }),
    ...(since === undefined ? {} : { since }),
    ...(before === undefined ? {} : { before }),
  };
  const pages =
    repo === undefined
      ? forgePages(cli.client, forge.listNotifications, { query })
      : forgePages(cli.client, forge.listRepositoryNotifications, {
          params: { ...toRepositoryName(repo) },
          query,
        });
  // Machines get the threads as the API has them.
  const named = cli.output.isMachine ? pages : namingCommits(cli, pages);
  if (follow !== true) return cli.output.list(named, threadColumns);
  const filter = {
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
    ...(repo === undefined ? {} : { repo }),
  };
  const threads = listAndFollow(cli, pages, filter);
  await cli.output.stream(cli.output.isMachine ? threads : naming(cli, threads), threadColumns);
}

async function* naming(
  cli: CliContext,
  threads: AsyncGenerator<WireThread, void, void>,
): AsyncGenerator<WireThread, void, void> {
  for await (const thread of threads) yield await nameCommit(cli, thread);
}

function toSubjectName(value: string): SubjectName {
  return toChoice("--type", ["issue", "pull", "commit", "repository"], value);
}

/** Selects the threads that `--follow` prints; without members, all. */
interface FollowFilter {
  readonly status?: readonly ThreadStatusName[];
  readonly type?: readonly string[];
  /** OWNER/NAME. */
  readonly repo?: string;
}

/**
 * Yields the threads of a list, the last changed at the end, and then each thread that changes, until the caller stops. The
 * event stream is opened before the list is read, so that no change between the two is missed.
 */
async function* listAndFollow(
  cli: CliContext,
  pages: PageSource<WireThread>,
  filter: FollowFilter,
): AsyncGenerator<WireThread, void, void> {
  const news = followThreads(cli, {
    onConnection: (isOpen) => {
      if (!isOpen) cli.io.note("Connection lost; reconnecting.");
    },
  });
  try {
    await news.next();
    const listed: WireThread[] = [];
    for await (const { items } of readPages(pages, cli.flags)) listed.push(...items);
    yield* listed.toReversed();
    const shown = new Set(listed.map((thread) => JSON.stringify(thread)));
    for await (const one of news) {
      if (one.kind === "count" || !matchesFilter(one.thread, filter)) continue;
      // Threads that changed while the list was read are in both.
      if (shown.delete(JSON.stringify(one.thread))) continue;
      yield one.thread;
    }
  } finally {
    await news.return();
  }
}

function matchesFilter(
  { unread, pinned, subject, repository }: WireThread,
  { status, type, repo }: FollowFilter,
): boolean {
  const is = unread ? "unread" : pinned ? "pinned" : "read";
  return (
    (status?.includes(is) ?? is !== "read") &&
    (type?.includes(subject?.type.toLowerCase() ?? "") ?? true) &&
    (repo === undefined || repository?.full_name.toLowerCase() === repo.toLowerCase())
  );
}
