import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.linkPackage];
export const output = shape({
  linked: "boolean",
  owner: "string",
  type: "string",
  name: "string",
  repository: "string",
});

/** What the command was given. */
export interface PackageLinkOptions {
  readonly owner: string;
  readonly type: string;
  readonly name: string;
  /** Of the same owner. */
  readonly repository: string;
}

export function define(command: Command, cli: CliContext, run = runPackageLink): void {
  command
    .argument("<owner>", "the user or organization")
    .argument("<type>", "such as generic or npm")
    .argument("<name>", "the package, with its scope if it has one")
    .argument("<repository>", "the name of a repository of the same owner")
    .action((owner: string, type: string, name: string, repository: string) =>
      run(cli, { owner, type, name, repository }),
    );
}

/** Links a package to a repository, whose hooks hear of it from then on. */
async function runPackageLink(cli: CliContext, options: PackageLinkOptions): Promise<void> {
  const { owner, type, name, repository } = options;
  await cli.client.call(forge.linkPackage, {
    params: { owner, type, name, repo_name: repository },
  });
  const what = `${type} package ${name} of ${owner}`;
  await cli.output.done({ linked: true, ...options }, `Linked the ${what} to ${repository}.`);
}
