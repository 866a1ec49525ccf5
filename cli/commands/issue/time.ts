import type {
  WireStopwatch,
  WireTrackedTime,
} from "../../../daemon/contract/forge/issues/tracked-times.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { toDueDate } from "../../support/issues.ts";
import { type IssueName, toIssueName, toRepositoryName } from "../../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List tracked time", () => listTimes, { aliases: ["ls"] }),
  verb("add", "Add time to an issue", () => addTime),
  verb("delete", "Delete tracked time", () => deleteTime, { aliases: ["rm"] }),
  verb("start", "Start the stopwatch on an issue", () => startTimer),
  verb("stop", "Stop the stopwatch", () => stopTimer),
  verb("status", "Show the running stopwatch", () => showTimer),
];

const issueArgument = ["<issue>", "the issue as OWNER/NAME#NUMBER"] as const;
const toText = ({ owner, repo, index }: IssueName) => `${owner}/${repo}#${index}`;

interface TimeListOptions {
  /** `owner/name#number`, `owner/name`, or absent for the user's own time everywhere. */
  readonly of?: string;
  readonly user?: string;
  readonly since?: string;
  readonly before?: string;
}

const listTimes = {
  operations: [forge.listIssueTimes, forge.listRepositoryTimes, forge.listOwnTimes],
  output: listOf(forge.listIssueTimes),
  define(command, cli, run = runTimeList): void {
    command
      .argument(
        "[of]",
        "an issue as OWNER/NAME#NUMBER or a repository as OWNER/NAME; your own time when absent",
      )
      .option("--user <username>", "of this user; needs write access")
      .option("--since <date>", "on this day or later, such as 2026-11-01", toDueDate)
      .option("--before <date>", "before this day, such as 2026-12-01", toDueDate)
      .action((of: string | undefined, flags: Omit<TimeListOptions, "of">) =>
        run(cli, { ...(of === undefined ? {} : { of }), ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints the time tracked on an issue, in a repository, or by the user. */
async function runTimeList(cli: CliContext, options: TimeListOptions): Promise<void> {
  const { of, user, since, before } = options;
  const range = {
    ...(since === undefined ? {} : { since }),
    ...(before === undefined ? {} : { before }),
  };
  const query = { ...range, ...(user === undefined ? {} : { user }) };
  if (of === undefined) {
    if (user !== undefined) throw usageError("--user needs an issue or a repository");
    const pages = forgePages(cli.client, forge.listOwnTimes, { query: range });
    await cli.output.list(pages, timeColumns);
  } else if (of.includes("#")) {
    const input = { params: toIssueName(of), query };
    await cli.output.list(forgePages(cli.client, forge.listIssueTimes, input), timeColumns);
  } else {
    const input = { params: toRepositoryName(of), query };
    await cli.output.list(forgePages(cli.client, forge.listRepositoryTimes, input), timeColumns);
  }
}

interface TimeAddOptions extends IssueName {
  readonly seconds: number;
  readonly on?: string;
  readonly user?: string;
}

const addTime = {
  operations: [forge.addIssueTime],
  output: resourceOf(forge.addIssueTime),
  define(command, cli, run = runTimeAdd): void {
    command
      .argument(...issueArgument)
      .argument("<duration>", "hours, minutes and seconds, such as 1h30m")
      .option("--on <date>", "the day of the work, such as 2026-11-20; now when absent", toDueDate)
      .option("--user <username>", "time of this user; for administrators")
      .action((issue: string, duration: string, flags: { on?: string; user?: string }) =>
        run(cli, { ...toIssueName(issue), seconds: toSeconds(duration), ...flags }),
      );
  },
} satisfies CommandModule;

/** Adds time to an issue and prints it. */
async function runTimeAdd(cli: CliContext, options: TimeAddOptions): Promise<void> {
  const { seconds, on, user, ...params } = options;
  const { body } = await cli.client.call(forge.addIssueTime, {
    params,
    body: {
      time: seconds,
      ...(on === undefined ? {} : { created: on }),
      ...(user === undefined ? {} : { user_name: user }),
    },
  });
  await cli.output.resource(body, timeColumns);
}

interface TimeDeleteOptions extends IssueName {
  readonly id?: string;
  readonly all?: boolean;
}

const deleteTime = {
  operations: [forge.deleteIssueTime, forge.resetIssueTimes],
  output: shape({ deleted: "boolean", issue: "string" }),
  destructive: true,
  define(command, cli, run = runTimeDelete): void {
    command
      .argument(...issueArgument)
      .argument("[id]", "the id of the entry")
      .option("--all", "all of your time on the issue")
      .action((issue: string, id: string | undefined, flags: { readonly all?: boolean }) =>
        run(cli, { ...toIssueName(issue), ...(id === undefined ? {} : { id }), ...flags }),
      );
  },
} satisfies CommandModule;

/** Deletes an entry, or all entries of the user on an issue. */
async function runTimeDelete(
  cli: CliContext,
  { id, all = false, ...params }: TimeDeleteOptions,
): Promise<void> {
  const issue = toText(params);
  if (all === (id !== undefined))
    throw new CliError("missing_input", "name the id of an entry, or --all");
  if (id === undefined) {
    await cli.prompts.confirm(`Delete all of your time on ${issue}?`);
    await cli.client.call(forge.resetIssueTimes, { params });
  } else {
    await cli.prompts.confirm(`Delete the time ${id} of ${issue}?`);
    await cli.client.call(forge.deleteIssueTime, { params: { ...params, id } });
  }
  await cli.output.done({ deleted: true, issue }, `Deleted the time on ${issue}.`);
}

const startTimer = {
  operations: [forge.startStopwatch],
  output: shape({ running: "boolean", issue: "string" }),
  define(command, cli, run = runStart): void {
    command.argument(...issueArgument).action((issue: string) => run(cli, toIssueName(issue)));
  },
} satisfies CommandModule;

/** Starts the stopwatch; one that runs on another issue is stopped. */
async function runStart(cli: CliContext, params: IssueName): Promise<void> {
  await cli.client.call(forge.startStopwatch, { params });
  const issue = toText(params);
  await cli.output.done({ running: true, issue }, `Started the stopwatch on ${issue}.`);
}

interface StopOptions extends IssueName {
  readonly discard?: boolean;
}

const stopTimer = {
  operations: [forge.stopStopwatch, forge.cancelStopwatch],
  output: shape({ running: "boolean", issue: "string" }),
  destructive: false,
  define(command, cli, run = runStop): void {
    command
      .argument(...issueArgument)
      .option("--discard", "drop the time instead of adding it to the issue")
      .action((issue: string, flags: { readonly discard?: boolean }) =>
        run(cli, { ...toIssueName(issue), ...flags }),
      );
  },
} satisfies CommandModule;

/** Stops the stopwatch and records or discards its time. */
async function runStop(
  cli: CliContext,
  { discard = false, ...params }: StopOptions,
): Promise<void> {
  if (discard) await cli.client.call(forge.cancelStopwatch, { params });
  else await cli.client.call(forge.stopStopwatch, { params });
  const issue = toText(params);
  await cli.output.done({ running: false, issue }, `Stopped the stopwatch on ${issue}.`);
}

const showTimer = {
  operations: [forge.listStopwatches],
  output: listOf(forge.listStopwatches),
  define(command, cli, run = runStatus): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the running stopwatch. */
async function runStatus(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listStopwatches, {}), stopwatchColumns);
}

/** `1h30m`, `45m` or `90s` in seconds. @throws CliError `usage` */
function toSeconds(value: string): number {
  const [, hours = "0", minutes = "0", seconds = "0"] =
    /^(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$/.exec(value) ?? [];
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  if (total === 0) throw usageError(`a duration is written as 1h30m, not ${JSON.stringify(value)}`);
  return total;
}

const timeColumns: readonly Column<WireTrackedTime>[] = [
  { header: "id", cell: ({ id }) => id },
  {
    header: "issue",
    cell: ({ issue }) =>
      issue === null ? undefined : `${issue.repository.full_name}#${issue.number}`,
  },
  { header: "user", cell: ({ user_name: name }) => name },
  { header: "seconds", cell: ({ time: seconds }) => seconds },
  { header: "on", cell: ({ created }) => time(created) },
];

const stopwatchColumns: readonly Column<WireStopwatch>[] = [
  {
    header: "issue",
    cell: (watch) => `${watch.repo_owner_name}/${watch.repo_name}#${watch.issue_index}`,
  },
  { header: "title", cell: ({ issue_title: title }) => title },
  { header: "started", cell: ({ created }) => time(created) },
  { header: "duration", cell: ({ duration }) => duration },
];
