import type { Command } from "commander";
import type { listPackageFiles as listPackageFilesEndpoint } from "../../../../daemon/contract/forge/packages/admin-packages.ts";
import { operation } from "../../../client/operation.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { type PackageVersionOptions, takeVersion } from "./version-arguments.ts";

const listPackageFiles = operation<typeof listPackageFilesEndpoint>(
  "forge.packages.files.list",
  "GET",
  "/api/v1/packages/:owner/:type/:name/:version/files",
);

export const operations = [listPackageFiles];
export const output = listOf(listPackageFiles);

export function define(command: Command, cli: CliContext, run = runPackageFiles): void {
  takeVersion(command, (options) => run(cli, options));
}

/** Prints the files of a version, in the order of their upload. */
async function runPackageFiles(cli: CliContext, options: PackageVersionOptions): Promise<void> {
  const pages = forgePages(cli.client, listPackageFiles, { params: { ...options } });
  await cli.output.list(pages, [
    { header: "id", cell: ({ id }) => id },
    { header: "name", cell: ({ name }) => name },
    { header: "size", cell: ({ size }) => size },
    { header: "sha256", cell: ({ sha256 }) => sha256 },
  ]);
}
