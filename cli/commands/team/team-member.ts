import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { listOf, shape } from "../../output/spec.ts";
import { personColumns } from "../../support/person.ts";
import { findTeamId, teamArgument, teamOperations } from "../../support/team.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

const userArgument = { "<username>": "the user" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the members of a team", {
    aliases: ["ls"],
    args: teamArgument,
    calls: [forge.listTeamMembers, ...teamOperations],
    output: listOf(forge.listTeamMembers),
    examples: [
      ["List the members", "croft team member list acme/writers"],
      ["Print their names", "croft team member list acme/writers --jq '.[].login'"],
    ],
    /** Prints the members of a team, by name. */
    async run(cli, { team }) {
      const teamId = await findTeamId(cli, team);
      await cli.output.list(
        forgePages(cli.client, forge.listTeamMembers, { params: { team: teamId } }),
        personColumns,
      );
    },
  }),
  command("add", "Add a user to a team and its organization", {
    args: { ...teamArgument, ...userArgument },
    calls: [forge.addTeamMember, ...teamOperations],
    output: shape({ added: "boolean", username: "string", team: "string" }),
    examples: [
      ["Add a user", "croft team member add acme/writers mira"],
      ["Show the request only", "croft team member add acme/writers mira --dry-run"],
    ],
    /** Adds a user to a team. */
    async run(cli, { team, username }) {
      const teamId = await findTeamId(cli, team);
      await cli.client.call(forge.addTeamMember, { params: { team: teamId, member: username } });
      await cli.output.done(
        { added: true, username, team },
        `${username} is a member of the team ${team}.`,
      );
    },
  }),
  command("remove", "Remove a user from a team", {
    aliases: ["rm"],
    args: { ...teamArgument, ...userArgument },
    calls: [forge.removeTeamMember, ...teamOperations],
    output: shape({ removed: "boolean", username: "string", team: "string" }),
    destructive: true,
    examples: [
      ["Remove a user", "croft team member remove acme/writers mira --yes"],
      ["Show the request only", "croft team member remove acme/writers mira --dry-run"],
    ],
    /** Removes a user from a team, and with the last team from the organization. */
    async run(cli, { team, username }) {
      const teamId = await findTeamId(cli, team);
      await cli.prompts.confirm(`Remove ${username} from the team ${team}?`);
      await cli.client.call(forge.removeTeamMember, { params: { team: teamId, member: username } });
      await cli.output.done(
        { removed: true, username, team },
        `${username} is not a member of the team ${team}.`,
      );
    },
  }),
];
