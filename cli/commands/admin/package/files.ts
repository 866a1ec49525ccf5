import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { type PackageVersionOptions, takeVersion } from "./version-arguments.ts";

export const operations = [forge.listPackageFiles];
export const output = listOf(forge.listPackageFiles);

export function define(command: Command, cli: CliContext, run = runPackageFiles): void {
  takeVersion(command, (options) => run(cli, options));
}

/** Prints the files of a version, in the order of their upload. */
async function runPackageFiles(cli: CliContext, options: PackageVersionOptions): Promise<void> {
  const pages = forgePages(cli.client, forge.listPackageFiles, { params: { ...options } });
  await cli.output.list(pages, [
    { header: "id", cell: ({ id }) => id },
    { header: "name", cell: ({ name }) => name },
    { header: "size", cell: ({ size }) => size },
    { header: "sha256", cell: ({ sha256 }) => sha256 },
  ]);
}
