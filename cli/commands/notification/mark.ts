import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { CliError, exitCodeOf, toErrorLine, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { resultFields, runBatch } from "../batch.ts";
import { toRepositoryName } from "../repo/repo-name.ts";
import { type ThreadStatusName, toStatusName } from "./thread-columns.ts";

export const operations = [
  forge.markNotification,
  forge.markNotifications,
  forge.markRepositoryNotifications,
];
export const output = shape({
  marked: "integer",
  status: "string",
  failed: {
    type: "array",
    items: { type: "object", properties: resultFields as Record<string, object> },
  },
});

/** What the command was given. */
export interface NotificationMarkOptions {
  readonly ids: readonly string[];
  readonly as: ThreadStatusName;
  readonly all?: boolean;
  readonly repo?: string;
  readonly upTo?: string;
}

export function define(command: Command, cli: CliContext, run = runNotificationMark): void {
  command
    .argument("[id...]", "threads by their ids")
    .option("--as <status>", "unread, read or pinned", toStatusName("--as"), "read")
    .option("--all", "mark all unread threads")
    .option("--repo <repository>", "with --all: only threads of this repository, as OWNER/NAME")
    .option("--up-to <time>", "with --all: leave threads alone that changed after this time")
    .action((ids: readonly string[], options: Omit<NotificationMarkOptions, "ids">) =>
      run(cli, { ids, ...options }),
    );
}

/** Marks threads: the named ones one by one, or all unread ones in one request. Pinned ones stay pinned with `--all`. */
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
    const what = { marked, status, failed: [] };
    return cli.output.done(what, `Marked ${toThreads(marked)} as ${status}.`);
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
  const what = { marked, status, failed: failed.map(({ item, error }) => ({ item, error })) };
  await cli.output.done(what, `Marked ${toThreads(marked)} as ${status}.`);
  if (failed.length === 0) return;
  const partial = new CliError("partial", `${failed.length} of ${ids.length} were not marked`);
  for (const { item, error } of cli.output.isMachine ? [] : failed)
    cli.io.warn(`croft: ${item}: ${error.message}`);
  cli.io.warn(cli.output.isMachine ? toErrorLine(partial) : `croft: ${partial.message}`);
  cli.finishWith(exitCodeOf(partial));
}

/** How many threads were marked: the answer's list is bounded, its header counts all. */
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
