import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { findTeamId, teamArgument, teamColumns, teamOperations } from "../../support/team.ts";
import { type CommandModule, type Entry, noun, verb } from "../../tree/entry.ts";
import { createTeam, editTeam } from "./team-edit.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your teams, or those of an organization", () => listTeams, {
    aliases: ["ls"],
  }),
  verb("view", "Show a team", () => viewTeam),
  verb("create", "Create a team in an organization", () => createTeam),
  verb("edit", "Edit a team", () => editTeam),
  verb("delete", "Delete a team", () => deleteTeam, { aliases: ["rm"] }),
  noun("member", "Manage the members of a team", () => import("./team-member.ts")),
  noun("repo", "Manage the repositories of a team", () => import("./team-repo.ts")),
];

const listTeams = {
  operations: [forge.listOwnTeams, forge.listTeams],
  output: listOf(forge.listOwnTeams),
  define(command, cli, run = runList): void {
    command
      .argument("[organization]", "an organization; your teams by default")
      .action((organization: string | undefined) => run(cli, organization));
  },
} satisfies CommandModule;

/** Prints the caller's teams, or those of an organization that the caller may see. */
async function runList(cli: CliContext, organization: string | undefined): Promise<void> {
  const pages =
    organization === undefined
      ? forgePages(cli.client, forge.listOwnTeams, {})
      : forgePages(cli.client, forge.listTeams, { params: { org: organization } });
  await cli.output.list(pages, teamColumns);
}

const viewTeam = {
  operations: [forge.getTeam, ...teamOperations],
  output: resourceOf(forge.getTeam),
  define(command, cli, run = runView): void {
    command.argument(...teamArgument).action((team: string) => run(cli, team));
  },
} satisfies CommandModule;

/** Prints one team with its permissions. */
async function runView(cli: CliContext, team: string): Promise<void> {
  const teamId = await findTeamId(cli, team);
  const { body } = await cli.client.call(forge.getTeam, { params: { team: teamId } });
  await cli.output.resource(body, [
    ...teamColumns,
    { header: "description", cell: ({ description }) => description },
    {
      header: "units",
      cell: ({ units_map: units }) =>
        Object.entries(units)
          .map(([unit, level]) => `${unit}=${level}`)
          .join(" "),
    },
    { header: "creates repositories", cell: ({ can_create_org_repo: creates }) => creates },
  ]);
}

const deleteTeam = {
  operations: [forge.deleteTeam, ...teamOperations],
  output: shape({ deleted: "boolean", team: "string" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    command.argument(...teamArgument).action((team: string) => run(cli, team));
  },
} satisfies CommandModule;

/** Deletes a team. */
async function runDelete(cli: CliContext, team: string): Promise<void> {
  const teamId = await findTeamId(cli, team);
  await cli.prompts.confirm(`Delete the team ${team}?`);
  await cli.client.call(forge.deleteTeam, { params: { team: teamId } });
  await cli.output.done({ deleted: true, team }, `Deleted the team ${team}.`);
}
