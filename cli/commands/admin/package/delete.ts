import type { Command } from "commander";
import type { deletePackageVersion as deletePackageVersionEndpoint } from "../../../../daemon/contract/forge/packages/admin-packages.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";
import { type PackageVersionOptions, takeVersion } from "./version-arguments.ts";

const deletePackageVersion = operation<typeof deletePackageVersionEndpoint>(
  "forge.packages.versions.delete",
  "DELETE",
  "/api/v1/packages/:owner/:type/:name/:version",
);

export const operations = [deletePackageVersion];
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
  await cli.client.call(deletePackageVersion, { params: { owner, type, name, version } });
  await cli.output.done({ deleted: true, owner, type, name, version }, `Deleted the ${what}.`);
}
