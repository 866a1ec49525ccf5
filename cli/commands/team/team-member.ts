import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, shape } from "../../output/spec.ts";
import { personColumns } from "../../support/person.ts";
import { findTeamId, teamArgument, teamOperations } from "../../support/team.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the members of a team", () => listMembers, { aliases: ["ls"] }),
  verb("add", "Add a user to a team and its organization", () => addMember),
  verb("remove", "Remove a user from a team", () => removeMember, { aliases: ["rm"] }),
];

const userArgument = ["<username>", "the user"] as const;

const listMembers = {
  operations: [forge.listTeamMembers, ...teamOperations],
  output: listOf(forge.listTeamMembers),
  define(command, cli, run = runList): void {
    command.argument(...teamArgument).action((team: string) => run(cli, team));
  },
} satisfies CommandModule;

/** Prints the members of a team, by name. */
async function runList(cli: CliContext, team: string): Promise<void> {
  const teamId = await findTeamId(cli, team);
  await cli.output.list(
    forgePages(cli.client, forge.listTeamMembers, { params: { team: teamId } }),
    personColumns,
  );
}

const addMember = {
  operations: [forge.addTeamMember, ...teamOperations],
  output: shape({ added: "boolean", username: "string", team: "string" }),
  define(command, cli, run = runAdd): void {
    command
      .argument(...teamArgument)
      .argument(...userArgument)
      .action((team: string, username: string) => run(cli, team, username));
  },
} satisfies CommandModule;

/** Adds a user to a team. */
async function runAdd(cli: CliContext, team: string, username: string): Promise<void> {
  const teamId = await findTeamId(cli, team);
  await cli.client.call(forge.addTeamMember, { params: { team: teamId, member: username } });
  await cli.output.done(
    { added: true, username, team },
    `${username} is a member of the team ${team}.`,
  );
}

const removeMember = {
  operations: [forge.removeTeamMember, ...teamOperations],
  output: shape({ removed: "boolean", username: "string", team: "string" }),
  destructive: true,
  define(command, cli, run = runRemove): void {
    command
      .argument(...teamArgument)
      .argument(...userArgument)
      .action((team: string, username: string) => run(cli, team, username));
  },
} satisfies CommandModule;

/** Removes a user from a team, and with the last team from the organization. */
async function runRemove(cli: CliContext, team: string, username: string): Promise<void> {
  const teamId = await findTeamId(cli, team);
  await cli.prompts.confirm(`Remove ${username} from the team ${team}?`);
  await cli.client.call(forge.removeTeamMember, { params: { team: teamId, member: username } });
  await cli.output.done(
    { removed: true, username, team },
    `${username} is not a member of the team ${team}.`,
  );
}
