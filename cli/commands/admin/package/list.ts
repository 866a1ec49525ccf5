import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { packageColumns } from "./package-columns.ts";

export const operations = [forge.listPackages];
export const output = listOf(forge.listPackages);

/** What the command was given. */
export interface PackageListOptions {
  readonly type?: string;
  readonly search?: string;
}

export function define(command: Command, cli: CliContext, run = runPackageList): void {
  command
    .option("--type <type>", "only this type, such as generic or npm")
    .option("--search <text>", "in the package's name")
    .action((flags: PackageListOptions) => run(cli, flags));
}

/** Prints all versions of all packages, newest first. */
async function runPackageList(cli: CliContext, options: PackageListOptions): Promise<void> {
  const query = { type: options.type, q: options.search };
  await cli.output.list(forgePages(cli.client, forge.listPackages, { query }), packageColumns);
}
