import type { Command } from "commander";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import {
  findTeamId,
  teamArgument,
  teamColumns,
  teamOperations,
  findTeam,
} from "../../support/team.ts";
import { type CommandModule, type Entry, noun, verb } from "../../tree/entry.ts";
import type { WireTeam } from "../../../daemon/contract/forge/accounts/orgs.ts";
import { usageError } from "../../errors.ts";
import { readTrueOrFalse } from "../../support/flag-values.ts";
import {
  addIfAbsentFlag,
  createIfAbsent,
  type IfAbsentFlag,
  type Setting,
} from "../../support/if-absent.ts";

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

async function runDelete(cli: CliContext, team: string): Promise<void> {
  const teamId = await findTeamId(cli, team);
  await cli.prompts.confirm(`Delete the team ${team}?`);
  await cli.client.call(forge.deleteTeam, { params: { team: teamId } });
  await cli.output.done({ deleted: true, team }, `Deleted the team ${team}.`);
}

interface TeamFlags {
  readonly description?: string;
  readonly permission?: string;
  readonly unit?: readonly string[];
  readonly allRepositories?: string;
  readonly createsRepositories?: string;
  readonly visibility?: string;
}

function addTeamFlags(command: Command): Command {
  return command
    .option("--description <text>", "the description")
    .option("--permission <permission>", "read, write or admin")
    .option(
      "--unit <unit>",
      "a unit with the permission, such as issues, or with its own, such as issues=write; repeatable",
      (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
    )
    .option("--all-repositories <true|false>", "whether it has all repositories")
    .option("--creates-repositories <true|false>", "whether its members create repositories")
    .option("--visibility <visibility>", "public, limited or private");
}

/** The flags as members of a request. @throws CliError `usage` */
function toBody(flags: TeamFlags) {
  const { description, permission, visibility } = flags;
  return {
    description,
    permission,
    visibility,
    includes_all_repositories: readTrueOrFalse("--all-repositories", flags.allRepositories),
    can_create_org_repo: readTrueOrFalse("--creates-repositories", flags.createsRepositories),
    units_map: toUnits(flags.unit ?? [], permission),
  };
}

function toUnits(
  units: readonly string[],
  permission = "read",
): Record<string, string> | undefined {
  if (units.length === 0) return undefined;
  return Object.fromEntries(
    units.map((value) => {
      const [unit = "", level = permission, ...rest] = value.split("=");
      if (unit === "" || rest.length > 0)
        throw usageError(`--unit takes UNIT or UNIT=PERMISSION, not ${JSON.stringify(value)}`);
      return [unit.startsWith("repo.") ? unit : `repo.${unit}`, level];
    }),
  );
}

export interface TeamCreateOptions extends TeamFlags, IfAbsentFlag {
  readonly organization: string;
  readonly name: string;
}

export const createTeam = {
  operations: [forge.createTeam, ...teamOperations],
  output: resourceOf(forge.createTeam, 201),
  define(command, cli, run = runCreate): void {
    addTeamFlags(
      addIfAbsentFlag(command)
        .argument("<organization>", "the organization")
        .argument("<name>", "the name of the team"),
    ).action((organization: string, name: string, flags: TeamFlags & IfAbsentFlag) =>
      run(cli, { organization, name, ...flags }),
    );
  },
} satisfies CommandModule;

/** The default units of a team: all units of a repository. */
const everyUnit = [
  "code",
  "issues",
  "pulls",
  "releases",
  "wiki",
  "projects",
  "packages",
  "actions",
];

/** Creates a team. Without `--unit`, its permission applies to every unit. */
async function runCreate(cli: CliContext, options: TeamCreateOptions): Promise<void> {
  const { organization, name, ifAbsent, ...flags } = options;
  const unit = flags.permission === "admin" ? undefined : (flags.unit ?? everyUnit);
  const body = { name, ...toBody(unit === undefined ? flags : { ...flags, unit }) };
  const { value } = await createIfAbsent<WireTeam>(cli, {
    ifAbsent,
    title: `the team ${organization}/${name}`,
    find: () => findTeam(cli, organization, name),
    create: async () =>
      (await cli.client.call(forge.createTeam, { params: { org: organization }, body })).body,
    settings: (existing) => teamSettings(flags, existing),
    editedBy: "croft team edit",
  });
  await cli.output.resource(value, teamColumns);
}

function teamSettings(flags: TeamFlags, existing: WireTeam): readonly Setting[] {
  const units = toUnits(flags.unit ?? [], flags.permission);
  return [
    { flag: "--description", requested: flags.description, existing: existing.description },
    { flag: "--permission", requested: flags.permission, existing: existing.permission },
    { flag: "--visibility", requested: flags.visibility, existing: existing.visibility },
    {
      flag: "--all-repositories",
      requested: flags.allRepositories,
      existing: existing.includes_all_repositories,
    },
    {
      flag: "--creates-repositories",
      requested: flags.createsRepositories,
      existing: existing.can_create_org_repo,
    },
    {
      flag: "--unit",
      requested: units && listUnits(units),
      existing: listUnits(existing.units_map),
    },
  ];
}

function listUnits(units: Readonly<Record<string, string>>): string {
  return Object.entries(units)
    .filter(([, permission]) => permission !== "none")
    .map(([unit, permission]) => `${unit.replace("repo.", "")}=${permission}`)
    .toSorted()
    .join(",");
}

export interface TeamEditOptions extends TeamFlags {
  readonly team: string;
  readonly name?: string;
}

export const editTeam = {
  operations: [forge.editTeam, ...teamOperations],
  output: resourceOf(forge.editTeam),
  define(command, cli, run = runEdit): void {
    addTeamFlags(command.argument(...teamArgument).option("--name <name>", "its new name")).action(
      (team: string, flags: Omit<TeamEditOptions, "team">) => {
        if (Object.keys(flags).length === 0)
          throw usageError(
            "nothing to change",
            "give at least one flag of those that --help lists",
          );
        return run(cli, { team, ...flags });
      },
    );
  },
} satisfies CommandModule;

/** Changes a team; absent fields keep their values. */
async function runEdit(cli: CliContext, options: TeamEditOptions): Promise<void> {
  const { team, name, ...flags } = options;
  const teamId = await findTeamId(cli, team);
  const { body } = await cli.client.call(forge.editTeam, {
    params: { team: teamId },
    body: { name, ...toBody(flags) },
  });
  await cli.output.resource(body, teamColumns);
}
