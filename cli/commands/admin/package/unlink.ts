import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.unlinkPackage];
export const output = shape({
  unlinked: "boolean",
  owner: "string",
  type: "string",
  name: "string",
});

/** What the command was given. */
export interface PackageUnlinkOptions {
  readonly owner: string;
  readonly type: string;
  readonly name: string;
}

export function define(command: Command, cli: CliContext, run = runPackageUnlink): void {
  command
    .argument("<owner>", "the user or organization")
    .argument("<type>", "such as generic or npm")
    .argument("<name>", "the package, with its scope if it has one")
    .action((owner: string, type: string, name: string) => run(cli, { owner, type, name }));
}

/** Links a package to no repository any more. */
async function runPackageUnlink(cli: CliContext, options: PackageUnlinkOptions): Promise<void> {
  const { owner, type, name } = options;
  await cli.client.call(forge.unlinkPackage, { params: { owner, type, name } });
  const what = `${type} package ${name} of ${owner}`;
  await cli.output.done({ unlinked: true, ...options }, `Unlinked the ${what}.`);
}
