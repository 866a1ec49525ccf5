import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import {
  findTeamId,
  teamArgument,
  teamColumns,
  teamOperations,
  findTeam,
} from "../../support/team.ts";
import { type Entry, noun } from "../../tree/entry.ts";
import type { WireTeam } from "../../../daemon/contract/forge/accounts/orgs.ts";
import { usageError } from "../../errors.ts";
import { readTrueOrFalse } from "../../support/flag-values.ts";
import { createIfAbsent, type Setting, ifAbsentFlag } from "../../support/if-absent.ts";
import { command, type FlagValues } from "../../tree/command.ts";

const teamFlags = {
  "--description <text>": "the description",
  "--permission <permission>": "read, write or admin",
  "--unit <unit>": {
    help: "a unit with the permission, such as issues, or with its own, such as issues=write; repeatable",
    parse: (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
  },
  "--all-repositories <true|false>": "whether it has all repositories",
  "--creates-repositories <true|false>": "whether its members create repositories",
  "--visibility <visibility>": "public, limited or private",
} as const;

export const entries: readonly Entry[] = [
  command("list", "List your teams, or those of an organization", {
    aliases: ["ls"],
    args: { "[organization]": "an organization; your teams by default" },
    calls: [forge.listOwnTeams, forge.listTeams],
    output: listOf(forge.listOwnTeams),
    examples: [
      ["List your teams", "croft team list"],
      ["List the teams of an organization", "croft team list acme"],
    ],
    /** Prints the caller's teams, or those of an organization that the caller may see. */
    async run(cli, { organization }) {
      const pages =
        organization === undefined
          ? forgePages(cli.client, forge.listOwnTeams, {})
          : forgePages(cli.client, forge.listTeams, { params: { org: organization } });
      await cli.output.list(pages, teamColumns);
    },
  }),
  command("view", "Show a team", {
    args: teamArgument,
    calls: [forge.getTeam, ...teamOperations],
    output: resourceOf(forge.getTeam),
    examples: [
      ["Show a team", "croft team view acme/writers"],
      ["Print its permission", "croft team view acme/writers --jq .permission"],
    ],
    /** Prints one team with its permissions. */
    async run(cli, { team }) {
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
    },
  }),
  command("create", "Create a team in an organization", {
    args: { "<organization>": "the organization", "<name>": "the name of the team" },
    flags: { ...ifAbsentFlag, ...teamFlags },
    calls: [forge.createTeam, ...teamOperations],
    output: resourceOf(forge.createTeam, 201),
    examples: [
      ["Create a team that writes", "croft team create acme writers --permission write"],
      [
        "Create a team that may only write issues",
        "croft team create acme helpers --unit issues=write",
      ],
      [
        "In a script that may run again",
        "croft team create acme writers --permission write --if-absent --jq .id",
      ],
    ],
    /** Creates a team. Without `--unit`, its permission applies to every unit. */
    async run(cli, options) {
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
    },
  }),
  command("edit", "Edit a team", {
    args: teamArgument,
    flags: { "--name <name>": "its new name", ...teamFlags },
    calls: [forge.editTeam, ...teamOperations],
    output: resourceOf(forge.editTeam),
    examples: [
      ["Rename a team", "croft team edit acme/writers --name authors"],
      ["Give it all repositories", "croft team edit acme/writers --all-repositories true"],
    ],
    /** Changes a team; absent fields keep their values. */
    async run(cli, { team, ...changes }) {
      if (Object.keys(changes).length === 0)
        throw usageError("nothing to change", "give at least one flag of those that --help lists");
      const { name, ...flags } = changes;
      const teamId = await findTeamId(cli, team);
      const { body } = await cli.client.call(forge.editTeam, {
        params: { team: teamId },
        body: { name, ...toBody(flags) },
      });
      await cli.output.resource(body, teamColumns);
    },
  }),
  command("delete", "Delete a team", {
    aliases: ["rm"],
    args: teamArgument,
    calls: [forge.deleteTeam, ...teamOperations],
    output: shape({ deleted: "boolean", team: "string" }),
    destructive: true,
    examples: [
      ["Delete a team", "croft team delete acme/writers --yes"],
      ["Show the request only", "croft team delete acme/writers --dry-run"],
    ],
    async run(cli, { team }) {
      const teamId = await findTeamId(cli, team);
      await cli.prompts.confirm(`Delete the team ${team}?`);
      await cli.client.call(forge.deleteTeam, { params: { team: teamId } });
      await cli.output.done({ deleted: true, team }, `Deleted the team ${team}.`);
    },
  }),
  noun("member", "Manage the members of a team", () => import("./team-member.ts")),
  noun("repo", "Manage the repositories of a team", () => import("./team-repo.ts")),
];

type TeamFlags = FlagValues<typeof teamFlags>;

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
