import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { resourceOf } from "../output/spec.ts";
import { repositoryLines, type RepositoryName, toRepositoryName } from "../support/repository.ts";
import type { CommandModule } from "../tree/entry.ts";

export const archiveRepo = {
  operations: [forge.editRepository],
  output: resourceOf(forge.editRepository),
  destructive: true,
  define(command, cli, run = runRepoArchive): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .action((repository: string) => run(cli, toRepositoryName(repository), true));
  },
} satisfies CommandModule;

export const unarchiveRepo = {
  ...archiveRepo,
  define(command, cli, run = runRepoArchive): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .action((repository: string) => run(cli, toRepositoryName(repository), false));
  },
} satisfies CommandModule;

/** Archives a repository, or makes it writable again, and prints it. As in gh, both must be confirmed. */
async function runRepoArchive(
  cli: CliContext,
  { owner, repo }: RepositoryName,
  archived: boolean,
): Promise<void> {
  await cli.prompts.confirm(`${archived ? "Archive" : "Unarchive"} ${owner}/${repo}?`);
  const { body } = await cli.client.call(forge.editRepository, {
    params: { owner, repo },
    body: { archived },
  });
  await cli.output.resource(body, repositoryLines);
}
