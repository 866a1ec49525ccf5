import type {
  WireStopwatch,
  WireTrackedTime,
} from "../../../daemon/contract/forge/issues/tracked-times.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { CliError, usageError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { toDueDate } from "../../support/issues.ts";
import {
  type IssueName,
  toIssueName,
  toRepositoryName,
  issueArgument,
} from "../../support/repository.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List tracked time", {
    aliases: ["ls"],
    args: {
      "[of]":
        "an issue as OWNER/NAME#NUMBER or a repository as OWNER/NAME; your own time when absent",
    },
    flags: {
      "--user <username>": "of this user; needs write access",
      "--since <date>": { help: "on this day or later, such as 2026-11-01", parse: toDueDate },
      "--before <date>": { help: "before this day, such as 2026-12-01", parse: toDueDate },
    },
    calls: [forge.listIssueTimes, forge.listRepositoryTimes, forge.listOwnTimes],
    output: listOf(forge.listIssueTimes),
    examples: [
      ["List the time on an issue", "croft issue time list keeper/notes#7"],
      ["List your own time in all repositories", "croft issue time list --since 2026-11-01"],
    ],
    /** Prints the time tracked on an issue, in a repository, or by the user. */
    async run(cli, options) {
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
        await cli.output.list(
          forgePages(cli.client, forge.listRepositoryTimes, input),
          timeColumns,
        );
      }
    },
  }),
  command("add", "Add time to an issue", {
    args: {
      ...issueArgument,
      "<duration>": { help: "hours, minutes and seconds, such as 1h30m", parse: toSeconds },
    },
    flags: {
      "--on <date>": {
        help: "the day of the work, such as 2026-11-20; now when absent",
        parse: toDueDate,
      },
      "--user <username>": "time of this user; for administrators",
    },
    calls: [forge.addIssueTime],
    output: resourceOf(forge.addIssueTime),
    examples: [
      ["Add an hour and a half", "croft issue time add keeper/notes#7 1h30m"],
      ["Add the time of an earlier day", "croft issue time add keeper/notes#7 45m --on 2026-11-20"],
    ],
    /** Adds time to an issue and prints it. */
    async run(cli, { issue: params, duration: seconds, on, user }) {
      const { body } = await cli.client.call(forge.addIssueTime, {
        params,
        body: {
          time: seconds,
          ...(on === undefined ? {} : { created: on }),
          ...(user === undefined ? {} : { user_name: user }),
        },
      });
      await cli.output.resource(body, timeColumns);
    },
  }),
  command("delete", "Delete tracked time", {
    aliases: ["rm"],
    args: { ...issueArgument, "[id]": "the id of the entry" },
    flags: { "--all": "all of your time on the issue" },
    calls: [forge.deleteIssueTime, forge.resetIssueTimes],
    output: shape({ deleted: "boolean", issue: "string" }),
    destructive: true,
    examples: [
      ["Delete one entry", "croft issue time delete keeper/notes#7 12 --yes"],
      ["Delete all of your time on an issue", "croft issue time delete keeper/notes#7 --all --yes"],
    ],
    /** Deletes an entry, or all entries of the user on an issue. */
    async run(cli, { issue: params, id, all = false }) {
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
    },
  }),
  command("start", "Start the stopwatch on an issue", {
    args: issueArgument,
    calls: [forge.startStopwatch],
    output: shape({ running: "boolean", issue: "string" }),
    examples: [
      ["Start the stopwatch", "croft issue time start keeper/notes#7"],
      ["Show the request only", "croft issue time start keeper/notes#7 --dry-run"],
    ],
    /** Starts the stopwatch; one that runs on another issue is stopped. */
    async run(cli, { issue: params }) {
      await cli.client.call(forge.startStopwatch, { params });
      const issue = toText(params);
      await cli.output.done({ running: true, issue }, `Started the stopwatch on ${issue}.`);
    },
  }),
  command("stop", "Stop the stopwatch", {
    args: issueArgument,
    flags: { "--discard": "drop the time instead of adding it to the issue" },
    calls: [forge.stopStopwatch, forge.cancelStopwatch],
    output: shape({ running: "boolean", issue: "string" }),
    destructive: false,
    examples: [
      ["Stop the stopwatch and keep the time", "croft issue time stop keeper/notes#7"],
      ["Stop it and drop the time", "croft issue time stop keeper/notes#7 --discard"],
    ],
    /** Stops the stopwatch and records or discards its time. */
    async run(cli, { issue: params, discard = false }) {
      if (discard) await cli.client.call(forge.cancelStopwatch, { params });
      else await cli.client.call(forge.stopStopwatch, { params });
      const issue = toText(params);
      await cli.output.done({ running: false, issue }, `Stopped the stopwatch on ${issue}.`);
    },
  }),
  command("status", "Show the running stopwatch", {
    calls: [forge.listStopwatches],
    output: listOf(forge.listStopwatches),
    examples: [
      ["Show the running stopwatch", "croft issue time status"],
      ["Print its seconds", "croft issue time status --jq '.[].seconds'"],
    ],
    /** Prints the running stopwatch. */
    async run(cli) {
      await cli.output.list(forgePages(cli.client, forge.listStopwatches, {}), stopwatchColumns);
    },
  }),
];

const toText = ({ owner, repo, index }: IssueName) => `${owner}/${repo}#${index}`;

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
