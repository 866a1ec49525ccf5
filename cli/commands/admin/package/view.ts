import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { packageColumns } from "./package-columns.ts";
import { type PackageVersionOptions, takeVersion } from "./version-arguments.ts";

export const operations = [forge.getPackageVersion];
export const output = resourceOf(forge.getPackageVersion);

export function define(command: Command, cli: CliContext, run = runPackageView): void {
  takeVersion(command, (options) => run(cli, options));
}

/** Prints a version of a package. */
async function runPackageView(cli: CliContext, options: PackageVersionOptions): Promise<void> {
  const { body } = await cli.client.call(forge.getPackageVersion, { params: { ...options } });
  await cli.output.resource(body, packageColumns);
}
