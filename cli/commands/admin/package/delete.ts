import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";
import { type PackageVersionOptions, takeVersion } from "./version-arguments.ts";

export const operations = [forge.deletePackageVersion];
export const output = shape({
  deleted: "boolean",
  owner: "string",
  type: "string",
  name: "string",
  version: "string",
});
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runPackageDelete): void {
  takeVersion(command, (options) => run(cli, options));
}

/** Deletes a version of a package with its files, and the package with its last version. */
async function runPackageDelete(cli: CliContext, options: PackageVersionOptions): Promise<void> {
  const { owner, type, name, version } = options;
  const what = `${type} package ${name} ${version} of ${owner}`;
  await cli.prompts.confirm(`Delete the ${what}?`);
  await cli.client.call(forge.deletePackageVersion, { params: { owner, type, name, version } });
  await cli.output.done({ deleted: true, owner, type, name, version }, `Deleted the ${what}.`);
}
