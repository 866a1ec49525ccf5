import type { Command } from "commander";
import type { getPackageVersion as getPackageVersionEndpoint } from "../../../../daemon/contract/forge/packages/admin-packages.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { packageColumns } from "./package-columns.ts";
import { type PackageVersionOptions, takeVersion } from "./version-arguments.ts";

const getPackageVersion = operation<typeof getPackageVersionEndpoint>(
  "forge.packages.versions.get",
  "GET",
  "/api/v1/packages/:owner/:type/:name/:version",
);

export const operations = [getPackageVersion];
export const output = resourceOf(getPackageVersion);

export function define(command: Command, cli: CliContext, run = runPackageView): void {
  takeVersion(command, (options) => run(cli, options));
}

/** Prints a version of a package. */
async function runPackageView(cli: CliContext, options: PackageVersionOptions): Promise<void> {
  const { body } = await cli.client.call(getPackageVersion, { params: { ...options } });
  await cli.output.resource(body, packageColumns);
}
