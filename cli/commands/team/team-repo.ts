import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { listOf, shape } from "../../output/spec.ts";
import { repositoryColumns, toRepositoryName } from "../../support/repository.ts";
import { findTeamId, teamArgument, teamOperations } from "../../support/team.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

const repositoryArgument = { "<repository>": "the repository as OWNER/NAME" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the repositories of a team", {
    aliases: ["ls"],
    args: teamArgument,
    calls: [forge.listTeamRepositories, ...teamOperations],
    output: listOf(forge.listTeamRepositories),
    examples: [
      ["List the repositories of a team", "croft team repo list acme/writers"],
      ["Print their names", "croft team repo list acme/writers --jq '.[].full_name'"],
    ],
    /** Prints the repositories of a team that the caller may read, by name. */
    async run(cli, { team }) {
      const teamId = await findTeamId(cli, team);
      await cli.output.list(
        forgePages(cli.client, forge.listTeamRepositories, { params: { team: teamId } }),
        repositoryColumns,
      );
    },
  }),
  command("add", "Add a repository of its organization to a team", {
    args: { ...teamArgument, ...repositoryArgument },
    calls: [forge.addTeamRepository, ...teamOperations],
    output: shape({ added: "boolean", repository: "string", team: "string" }),
    examples: [
      ["Give a team a repository", "croft team repo add acme/writers acme/notes"],
      ["Show the request only", "croft team repo add acme/writers acme/notes --dry-run"],
    ],
    /** Gives a team a repository. */
    async run(cli, { team, repository }) {
      const { owner, repo } = toRepositoryName(repository);
      const teamId = await findTeamId(cli, team);
      await cli.client.call(forge.addTeamRepository, {
        params: { team: teamId, org: owner, repo },
      });
      await cli.output.done(
        { added: true, repository, team },
        `The team ${team} has the repository ${repository}.`,
      );
    },
  }),
  command("remove", "Remove a repository from a team", {
    aliases: ["rm"],
    args: { ...teamArgument, ...repositoryArgument },
    calls: [forge.removeTeamRepository, ...teamOperations],
    output: shape({ removed: "boolean", repository: "string", team: "string" }),
    destructive: true,
    examples: [
      ["Remove a repository from a team", "croft team repo remove acme/writers acme/notes --yes"],
      ["Show the request only", "croft team repo remove acme/writers acme/notes --dry-run"],
    ],
    /** Takes a repository from a team. */
    async run(cli, { team, repository }) {
      const { owner, repo } = toRepositoryName(repository);
      const teamId = await findTeamId(cli, team);
      await cli.prompts.confirm(`Remove ${repository} from the team ${team}?`);
      await cli.client.call(forge.removeTeamRepository, {
        params: { team: teamId, org: owner, repo },
      });
      await cli.output.done(
        { removed: true, repository, team },
        `The team ${team} does not have the repository ${repository} any more.`,
      );
    },
  }),
];
