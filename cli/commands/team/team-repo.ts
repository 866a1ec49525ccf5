import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, shape } from "../../output/spec.ts";
import { repositoryColumns, toRepositoryName } from "../../support/repository.ts";
import { findTeamId, teamArgument, teamOperations } from "../../support/team.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the repositories of a team", () => listRepositories, { aliases: ["ls"] }),
  verb("add", "Add a repository of its organization to a team", () => addRepository),
  verb("remove", "Remove a repository from a team", () => removeRepository, { aliases: ["rm"] }),
];

const repositoryArgument = ["<repository>", "the repository as OWNER/NAME"] as const;

const listRepositories = {
  operations: [forge.listTeamRepositories, ...teamOperations],
  output: listOf(forge.listTeamRepositories),
  define(command, cli, run = runList): void {
    command.argument(...teamArgument).action((team: string) => run(cli, team));
  },
} satisfies CommandModule;

/** Prints the repositories of a team that the caller may read, by name. */
async function runList(cli: CliContext, team: string): Promise<void> {
  const teamId = await findTeamId(cli, team);
  await cli.output.list(
    forgePages(cli.client, forge.listTeamRepositories, { params: { team: teamId } }),
    repositoryColumns,
  );
}

const addRepository = {
  operations: [forge.addTeamRepository, ...teamOperations],
  output: shape({ added: "boolean", repository: "string", team: "string" }),
  define(command, cli, run = runAdd): void {
    command
      .argument(...teamArgument)
      .argument(...repositoryArgument)
      .action((team: string, repository: string) => run(cli, team, repository));
  },
} satisfies CommandModule;

/** Gives a team a repository. */
async function runAdd(cli: CliContext, team: string, repository: string): Promise<void> {
  const { owner, repo } = toRepositoryName(repository);
  const teamId = await findTeamId(cli, team);
  await cli.client.call(forge.addTeamRepository, { params: { team: teamId, org: owner, repo } });
  await cli.output.done(
    { added: true, repository, team },
    `The team ${team} has the repository ${repository}.`,
  );
}

const removeRepository = {
  operations: [forge.removeTeamRepository, ...teamOperations],
  output: shape({ removed: "boolean", repository: "string", team: "string" }),
  destructive: true,
  define(command, cli, run = runRemove): void {
    command
      .argument(...teamArgument)
      .argument(...repositoryArgument)
      .action((team: string, repository: string) => run(cli, team, repository));
  },
} satisfies CommandModule;

/** Takes a repository from a team. */
async function runRemove(cli: CliContext, team: string, repository: string): Promise<void> {
  const { owner, repo } = toRepositoryName(repository);
  const teamId = await findTeamId(cli, team);
  await cli.prompts.confirm(`Remove ${repository} from the team ${team}?`);
  await cli.client.call(forge.removeTeamRepository, { params: { team: teamId, org: owner, repo } });
  await cli.output.done(
    { removed: true, repository, team },
    `The team ${team} does not have the repository ${repository} any more.`,
  );
}
