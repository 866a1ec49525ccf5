import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import { type RepositoryName, toRepositoryName } from "./repo-name.ts";

export const operations = [forge.deleteRepository];
export const output = shape({ deleted: "boolean", full_name: "string" });
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runRepoDelete): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .action((given: string) => run(cli, toRepositoryName(given)));
}

/** Deletes a repository with its history; its name must be typed, because nothing brings it back. */
async function runRepoDelete(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const name = `${owner}/${repo}`;
  await cli.prompts.confirm(`Delete the repository ${name} with its whole history?`, name);
  await cli.client.call(forge.deleteRepository, { params: { owner, repo } });
  await cli.output.done({ deleted: true, full_name: name }, `Deleted the repository ${name}.`);
}
