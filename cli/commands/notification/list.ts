import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { listOf } from "../../output/spec.ts";
import { toRepositoryName } from "../repo/repo-name.ts";
import { threadColumns, toStatusName, type ThreadStatusName } from "./thread-columns.ts";

export const operations = [
  forge.listNotifications,
  forge.listRepositoryNotifications,
  forge.streamNotifications,
];
export const output = listOf(forge.listNotifications);

type SubjectName = "issue" | "pull" | "commit" | "repository";

/** What the command was given. */
export interface NotificationListOptions {
  readonly status?: readonly ThreadStatusName[];
  readonly type?: readonly SubjectName[];
  readonly repo?: string;
  readonly since?: string;
  readonly before?: string;
  readonly follow?: true;
}

export function define(command: Command, cli: CliContext, run = runNotificationList): void {
  const toStatus = toStatusName("--status");
  command
    .option(
      "--status <status>",
      "unread, read or pinned; may be repeated; unread and pinned when absent",
      (given: string, all?: readonly ThreadStatusName[]) => [...(all ?? []), toStatus(given)],
    )
    .option(
      "--type <type>",
      "issue, pull, commit or repository; may be repeated",
      (given: string, all?: readonly SubjectName[]) => [...(all ?? []), toSubjectName(given)],
    )
    .option("--repo <repository>", "only threads of this repository, as OWNER/NAME")
    .option("--since <time>", "changed at this time or later, such as 2026-11-21T12:00:00Z")
    .option("--before <time>", "changed at this time or earlier")
    .option("-f, --follow", "go on with threads that have news, as they come; --ndjson for scripts")
    .action((options: NotificationListOptions) => run(cli, options));
}

/** Prints the caller's threads, the last changed first; with `follow` the last changed last, and then what comes. */
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
  if (follow !== true) return cli.output.list(pages, threadColumns);
  const { listAndFollow } = await import("./follow.ts");
  const filter = {
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
    ...(repo === undefined ? {} : { repo }),
  };
  await cli.output.stream(listAndFollow(cli, pages, filter), threadColumns);
}

function toSubjectName(given: string): SubjectName {
  if (given === "issue" || given === "pull" || given === "commit" || given === "repository")
    return given;
  throw usageError(`--type takes issue, pull, commit or repository, not ${JSON.stringify(given)}`);
}
