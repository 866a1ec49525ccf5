import type { Command } from "commander";
import type { WireTeam } from "../../../daemon/contract/forge/accounts/orgs.ts";
import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { readTrueOrFalse } from "../../support/flag-values.ts";
import {
  addIfAbsentFlag,
  createIfAbsent,
  type IfAbsentFlag,
  type Setting,
} from "../../support/if-absent.ts";
import {
  findTeam,
  findTeamId,
  teamArgument,
  teamColumns,
  teamOperations,
} from "../../support/team.ts";
import type { CommandModule } from "../../tree/entry.ts";

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
