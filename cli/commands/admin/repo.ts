import type { WireRepository } from "../../../daemon/contract/forge/repositories/repositories.ts";
import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { createIfAbsent } from "../../support/if-absent.ts";
import {
  addNewRepositoryFlags,
  findPresentRepository,
  type NewRepositoryFlags,
  repositorySettings,
  toNewRepositoryBody,
} from "../../support/new-repository.ts";
import {
  repositoryLines,
  type RepositoryName,
  toRepositoryName,
} from "../../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("create", "Create a repository for a user", () => createRepo),
];

export interface RepoCreateOptions extends RepositoryName, NewRepositoryFlags {}

export const createRepo = {
  operations: [forge.createRepository, forge.getRepository],
  output: resourceOf(forge.createRepository, 201),
  define(command, cli, run = runRepoCreate): void {
    addNewRepositoryFlags(
      command.argument(
        "<repository>",
        "the repository as OWNER/NAME; the owner is a user or organization",
      ),
    ).action((repository: string, flags: NewRepositoryFlags) =>
      run(cli, { ...toRepositoryName(repository), ...flags }),
    );
  },
} satisfies CommandModule;

/** Creates a repository for another owner. */
async function runRepoCreate(cli: CliContext, options: RepoCreateOptions): Promise<void> {
  const { owner, repo } = options;
  const { value } = await createIfAbsent<WireRepository>(cli, {
    ifAbsent: options.ifAbsent,
    title: `the repository ${owner}/${repo}`,
    find: () => findPresentRepository(cli, { owner, repo }),
    create: async () => {
      const params = { username: owner };
      const body = toNewRepositoryBody(repo, options);
      return (await cli.client.call(forge.createRepository, { params, body })).body;
    },
    settings: (existing) => repositorySettings(options, existing),
    editedBy: "croft repo edit",
  });
  await cli.output.resource(value, repositoryLines);
}
