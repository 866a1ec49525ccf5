import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, exitCodeOf, toErrorLine, usageError } from "../../errors.ts";
import { resourceOf, shape } from "../../output/spec.ts";
import { resultFields, runBatch } from "../../support/batch.ts";
import { nameCommit } from "../../support/commit-threads.ts";
import { toRepositoryName, toIssueName } from "../../support/repository.ts";
import { threadLines, toStatusName } from "../../support/thread-columns.ts";
import type { Entry } from "../../tree/entry.ts";
import { listNotifications } from "./list.ts";
import { command, type FlagValues } from "../../tree/command.ts";

const markFlags = {
  "--as <status>": {
    help: "unread, read or pinned",
    parse: toStatusName("--as"),
    default: "read",
  },
  "--all": "mark all unread threads",
  "--repo <repository>": "with --all: only threads of this repository, as OWNER/NAME",
  "--up-to <time>": "with --all: skip threads that changed after this time",
} as const;

export const entries: readonly Entry[] = [
  command("list", "List your notification threads", async () => listNotifications, {
    aliases: ["ls"],
  }),
  command(
    "inbox",
    "Open your inbox as a full-screen view",
    async () => (await import("./inbox.ts")).inbox,
  ),
  command("count", "Count your unread threads", {
    calls: [forge.countNotifications],
    output: resourceOf(forge.countNotifications),
    examples: [
      ["Count your unread threads", "croft notification count"],
      ["Print the number", "croft notification count --jq .new"],
    ],
    /** Prints how many of the caller's threads are unread. */
    async run(cli) {
      const { body } = await cli.client.call(forge.countNotifications, {});
      await cli.output.text(`${body.new}\n`, body);
    },
  }),
  command("view", "Show a thread", {
    args: { "<id>": "the thread's id" },
    calls: [forge.getNotification, forge.getCommit, forge.getCombinedStatus],
    output: resourceOf(forge.getNotification),
    examples: [
      ["Show a thread", "croft notification view 9"],
      ["Print what it is about", "croft notification view 9 --jq .subject.title"],
    ],
    /** Prints one thread; it stays unread. */
    async run(cli, { id }) {
      const { body } = await cli.client.call(forge.getNotification, { params: { id } });
      await cli.output.resource(
        cli.output.isMachine ? body : await nameCommit(cli, body),
        threadLines,
      );
    },
  }),
  command("mark", "Mark threads as read, unread or pinned", {
    args: { "[id...]": "threads by their ids" },
    flags: markFlags,
    calls: [forge.markNotification, forge.markNotifications, forge.markRepositoryNotifications],
    output: shape({
      marked: "integer",
      status: "string",
      failed: {
        type: "array",
        items: { type: "object", properties: resultFields as Record<string, object> },
      },
    }),
    examples: [
      ["Mark threads as read", "croft notification mark 9 10 --as read"],
      [
        "Mark all threads of a repository as read",
        "croft notification mark --all --as read --repo keeper/notes",
      ],
    ],
    /** Marks the named threads one by one, or all unread ones in one request. With `--all`, pinned threads stay pinned. */
    async run(cli, { id: ids, ...options }) {
      const { all = false, repo, upTo, as: status } = options;
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
    },
  }),
  command("watch", "Watch or unwatch a repository or an issue", {
    args: { "<subject>": "a repository as OWNER/NAME, or an issue as OWNER/NAME#NUMBER" },
    flags: { "--off": "stop watching" },
    calls: [
      forge.watchRepository,
      forge.unwatchRepository,
      forge.subscribeToIssue,
      forge.unsubscribeFromIssue,
      forge.getCurrentUser,
    ],
    output: shape({ watching: "boolean", subject: "string" }),
    /** Unwatching can be undone, so it needs no confirmation. */
    destructive: false,
    examples: [
      ["Watch a repository", "croft notification watch keeper/notes"],
      ["Stop watching an issue", "croft notification watch keeper/notes#7 --off"],
    ],
    /** Subscribes the caller to a repository or to one issue, or unsubscribes. */
    async run(cli, { subject, off = false }) {
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
    },
  }),
];

/** Returns the number of marked threads: the list in the response is bounded, its header counts all. */
async function markAll(
  cli: CliContext,
  { repo, upTo, as: status }: FlagValues<typeof markFlags>,
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
