import type { WireActivity } from "../../daemon/contract/forge/activities.ts";
import { describeActivity } from "../../daemon/contract/forge/activity-text.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import type { PageSource } from "../output/pages.ts";
import { listOf } from "../output/spec.ts";
import { readTime } from "../support/flag-values.ts";
import { toRepositoryName } from "../support/repository.ts";
import { findTeamId, teamOperations } from "../support/team.ts";
import type { Entry } from "../tree/entry.ts";
import { command, type FlagValues } from "../tree/command.ts";

const feedFlags = {
  "--user <username>": "the feed of this user; your own by default",
  "--org <organization>": "activities in repositories of this organization",
  "--team <team>": "activities in repositories of this team, as ORG/TEAM or its id",
  "--repo <repository>": "activities in this repository, as OWNER/NAME",
  "--performed": "only activities of the user, without those of others in watched repositories",
  "--date <day>": "only of this day in UTC, such as 2026-11-23",
} as const;

export const entries: readonly Entry[] = [
  command("list", "List recent activity, the latest first", {
    aliases: ["ls"],
    flags: feedFlags,
    calls: [
      forge.listUserActivities,
      forge.listOrganizationActivities,
      forge.listTeamActivities,
      forge.listRepositoryActivities,
      forge.getCurrentUser,
      ...teamOperations,
    ],
    output: listOf(forge.listUserActivities),
    examples: [
      ["List your feed", "croft activity list"],
      [
        "List what a user did on one day",
        "croft activity list --user mira --performed --date 2026-11-23",
      ],
      [
        "List what happened in a repository, as JSON",
        "croft activity list --repo keeper/notes --json",
      ],
    ],
    /** Prints one feed: of a user, an organization, a team or a repository. */
    async run(cli, options) {
      const { user, org, team, repo, performed, date } = options;
      if ([user, org, team, repo].filter((each) => each !== undefined).length > 1)
        throw usageError("--user, --org, --team and --repo exclude each other");
      if (performed === true && [org, team, repo].some((each) => each !== undefined))
        throw usageError("--performed is for the feed of a user");
      // The server ignores a date that it cannot parse and would return the whole feed.
      if (date !== undefined && !isDay(date))
        throw usageError(`--date takes a day such as 2026-11-23, not ${JSON.stringify(date)}`);
      await cli.output.list(await toPages(cli, options), columns);
    },
  }),
];

const columns: readonly Column<WireActivity>[] = [
  { header: "time", cell: ({ created }) => time(created) },
  { header: "user", cell: ({ act_user: actor }) => actor.login },
  { header: "activity", cell: toSentence },
  { header: "repository", cell: ({ repo }) => repo.full_name },
];

function toSentence(activity: WireActivity): string {
  const { action, subject, quote, commits } = describeActivity(activity);
  const said = quote === "" ? (commits[0]?.title ?? "") : quote;
  return said === "" ? `${action} ${subject}` : `${action} ${subject}: ${said}`;
}

async function toPages(
  cli: CliContext,
  { user, org, team, repo, performed, date }: FlagValues<typeof feedFlags>,
): Promise<PageSource<WireActivity>> {
  const query = date === undefined ? {} : { date };
  if (org !== undefined)
    return forgePages(cli.client, forge.listOrganizationActivities, { params: { org }, query });
  if (team !== undefined) {
    const params = { team: await findTeamId(cli, team) };
    return forgePages(cli.client, forge.listTeamActivities, { params, query });
  }
  if (repo !== undefined)
    return forgePages(cli.client, forge.listRepositoryActivities, {
      params: { ...toRepositoryName(repo) },
      query,
    });
  const username = user ?? (await cli.client.call(forge.getCurrentUser, {})).body.login;
  return forgePages(cli.client, forge.listUserActivities, {
    params: { username },
    query: { ...query, ...(performed === true ? { "only-performed-by": true } : {}) },
  });
}

function isDay(text: string): boolean {
  return text.length === "2026-12-31".length && readTime(text) !== undefined;
}
