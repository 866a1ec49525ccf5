import { toChoice } from "../../support/flag-values.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError, exitCodeOf, toErrorLine, usageError } from "../../errors.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { resultFields, runBatch } from "../../support/batch.ts";
import { nameCommit, namingCommits } from "../../support/commit-threads.ts";
import { toRepositoryName, toIssueName } from "../../support/repository.ts";
import {
  threadColumns,
  threadLines,
  type ThreadStatusName,
  toStatusName,
} from "../../support/thread-columns.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import type { WireThread } from "../../../daemon/contract/forge/notifications.ts";
import { followThreads } from "../../client/follow-threads.ts";
import { type PageSource, readPages } from "../../output/pages.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your notification threads", () => listNotifications, { aliases: ["ls"] }),
  verb(
    "inbox",
    "Open your inbox as a full-screen view",
    async () => (await import("./inbox.ts")).inbox,
  ),
  verb("count", "Count your unread threads", () => countNotifications),
  verb("view", "Show a thread", () => viewNotification),
  verb("mark", "Mark threads as read, unread or pinned", () => markNotifications),
  verb("watch", "Watch or unwatch a repository or an issue", () => watchRepository),
];

type SubjectName = "issue" | "pull" | "commit" | "repository";

interface NotificationListOptions {
  readonly status?: readonly ThreadStatusName[];
  readonly type?: readonly SubjectName[];
  readonly repo?: string;
  readonly since?: string;
  readonly before?: string;
  readonly follow?: true;
}

export const listNotifications = {
  operations: [
    forge.listNotifications,
    forge.listRepositoryNotifications,
    forge.streamNotifications,
    forge.getCommit,
    forge.getCombinedStatus,
  ],
  output: listOf(forge.listNotifications),
  define(command, cli, run = runNotificationList): void {
    const toStatus = toStatusName("--status");
    command
      .option(
        "--status <status>",
        "unread, read or pinned; may be repeated; unread and pinned when absent",
        (value: string, previous?: readonly ThreadStatusName[]) => [
          ...(previous ?? []),
          toStatus(value),
        ],
      )
      .option(
        "--type <type>",
        "issue, pull, commit or repository; may be repeated",
        (value: string, previous?: readonly SubjectName[]) => [
          ...(previous ?? []),
          toSubjectName(value),
        ],
      )
      .option("--repo <repository>", "only threads of this repository, as OWNER/NAME")
      .option("--since <time>", "changed at this time or later, such as 2026-11-21T12:00:00Z")
      .option("--before <time>", "changed at this time or earlier")
      .option("-f, --follow", "print new and changed threads as they arrive; --ndjson for scripts")
      .action((flags: NotificationListOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/**
 * Prints the caller's threads, the last changed first; with `follow` the last changed last, followed by new ones as
 * they arrive.
 */
export async function runNotificationList(
  cli: CliContext,
  { status, type, repo, since, before, follow }: NotificationListOptions,
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

const countNotifications = {
  operations: [forge.countNotifications],
  output: resourceOf(forge.countNotifications),
  define(command, cli, run = runNotificationCount): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints how many of the caller's threads are unread. */
async function runNotificationCount(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.countNotifications, {});
  await cli.output.text(`${body.new}\n`, body);
}

const viewNotification = {
  operations: [forge.getNotification, forge.getCommit, forge.getCombinedStatus],
  output: resourceOf(forge.getNotification),
  define(command, cli, run = runNotificationView): void {
    command.argument("<id>", "the thread's id").action((id: string) => run(cli, { id }));
  },
} satisfies CommandModule;

/** Prints one thread; it stays unread. */
async function runNotificationView(
  cli: CliContext,
  { id }: { readonly id: string },
): Promise<void> {
  const { body } = await cli.client.call(forge.getNotification, { params: { id } });
  await cli.output.resource(cli.output.isMachine ? body : await nameCommit(cli, body), threadLines);
}

export interface NotificationMarkOptions {
  readonly ids: readonly string[];
  readonly as: ThreadStatusName;
  readonly all?: boolean;
  readonly repo?: string;
  readonly upTo?: string;
}

export const markNotifications = {
  operations: [forge.markNotification, forge.markNotifications, forge.markRepositoryNotifications],
  output: shape({
    marked: "integer",
    status: "string",
    failed: {
      type: "array",
      items: { type: "object", properties: resultFields as Record<string, object> },
    },
  }),
  define(command, cli, run = runNotificationMark): void {
    command
      .argument("[id...]", "threads by their ids")
      .option("--as <status>", "unread, read or pinned", toStatusName("--as"), "read")
      .option("--all", "mark all unread threads")
      .option("--repo <repository>", "with --all: only threads of this repository, as OWNER/NAME")
      .option("--up-to <time>", "with --all: skip threads that changed after this time")
      .action((ids: readonly string[], flags: Omit<NotificationMarkOptions, "ids">) =>
        run(cli, { ids, ...flags }),
      );
  },
} satisfies CommandModule;

/** Marks the named threads one by one, or all unread ones in one request. With `--all`, pinned threads stay pinned. */
async function runNotificationMark(
  cli: CliContext,
  options: NotificationMarkOptions,
): Promise<void> {
  const { ids, all = false, repo, upTo, as: status } = options;
  if (all && ids.length > 0) throw usageError("--all and thread ids exclude each other");
  if (!all && ids.length === 0)
    throw new CliError("missing_input", "name threads by their ids, or give --all");
  if (!all && (repo !== undefined || upTo !== undefined))
    throw usageError("--repo and --up-to go with --all");
  if (all) {
    const marked = await markAll(cli, options);
    const result = { marked, status, failed: [] };
    return cli.output.done(result, `Marked ${toThreads(marked)} as ${status}.`);
  }
  const outcomes = await runBatch(ids, async (id) => {
    await cli.client.call(forge.markNotification, {
      params: { id },
      query: { "to-status": status },
    });
    return {};
  });
  const failed = outcomes.flatMap(({ item, failure }) =>
    failure === undefined
      ? []
      : [{ item, failure, error: { code: failure.code, message: failure.message } }],
  );
  const marked = outcomes.length - failed.length;
  const [first] = failed;
  if (first !== undefined && marked === 0) throw first.failure;
  const result = { marked, status, failed: failed.map(({ item, error }) => ({ item, error })) };
  await cli.output.done(result, `Marked ${toThreads(marked)} as ${status}.`);
  if (failed.length === 0) return;
  const partial = new CliError("partial", `${failed.length} of ${ids.length} were not marked`);
  for (const { item, error } of cli.output.isMachine ? [] : failed)
    cli.io.warn(`croft: ${item}: ${error.message}`);
  cli.io.warn(cli.output.isMachine ? toErrorLine(partial) : `croft: ${partial.message}`);
  cli.finishWith(exitCodeOf(partial));
}

/** Returns the number of marked threads: the list in the response is bounded, its header counts all. */
async function markAll(
  cli: CliContext,
  { repo, upTo, as: status }: NotificationMarkOptions,
): Promise<number> {
  const query = { "to-status": status, ...(upTo === undefined ? {} : { last_read_at: upTo }) };
  const answer =
    repo === undefined
      ? await cli.client.call(forge.markNotifications, { query })
      : await cli.client.call(forge.markRepositoryNotifications, {
          params: { ...toRepositoryName(repo) },
          query,
        });
  const total = Number(answer.headers["x-total-count"]);
  return Number.isSafeInteger(total) ? total : answer.body.length;
}

function toThreads(count: number): string {
  return `${count} ${count === 1 ? "thread" : "threads"}`;
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

interface NotificationWatchOptions {
  /** `owner/name`, or `owner/name#number`. */
  readonly subject: string;
  readonly off?: boolean;
}

export const watchRepository = {
  operations: [
    forge.watchRepository,
    forge.unwatchRepository,
    forge.subscribeToIssue,
    forge.unsubscribeFromIssue,
    forge.getCurrentUser,
  ],
  output: shape({ watching: "boolean", subject: "string" }),
  /** Unwatching can be undone, so it needs no confirmation. */
  destructive: false,
  define(command, cli, run = runNotificationWatch): void {
    command
      .argument("<subject>", "a repository as OWNER/NAME, or an issue as OWNER/NAME#NUMBER")
      .option("--off", "stop watching")
      .action((subject: string, flags: { readonly off?: boolean }) =>
        run(cli, { subject, ...flags }),
      );
  },
} satisfies CommandModule;

/** Subscribes the caller to a repository or to one issue, or unsubscribes. */
async function runNotificationWatch(
  cli: CliContext,
  { subject, off = false }: NotificationWatchOptions,
): Promise<void> {
  if (subject.includes("#")) {
    const { owner, repo, index } = toIssueName(subject);
    const { body: user } = await cli.client.call(forge.getCurrentUser, {});
    const params = { owner, repo, index, user: user.login };
    if (off) await cli.client.call(forge.unsubscribeFromIssue, { params });
    else await cli.client.call(forge.subscribeToIssue, { params });
  } else {
    const params = { ...toRepositoryName(subject) };
    if (off) await cli.client.call(forge.unwatchRepository, { params });
    else await cli.client.call(forge.watchRepository, { params });
  }
  const sentence = off ? `No longer watching ${subject}.` : `Watching ${subject}.`;
  await cli.output.done({ watching: !off, subject }, sentence);
}
