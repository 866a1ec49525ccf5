import type { Command } from "commander";
import type { WirePackage } from "../../../daemon/contract/forge/packages/admin-packages.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List and search packages", () => listPackages, {
    aliases: ["ls"],
  }),
  verb("versions", "List the versions of a package", () => listVersions),
  verb("view", "Show a package version", () => viewPackage),
  verb("files", "List the files of a package version", () => listPackageFiles),
  verb("link", "Link a package to a repository", () => linkPackage),
  verb("unlink", "Unlink a package from its repository", () => unlinkPackage),
  verb("delete", "Delete a package version", () => deletePackage, {
    aliases: ["rm"],
  }),
];

export interface PackageListOptions {
  readonly owner?: string;
  readonly type?: string;
  readonly search?: string;
}

export const listPackages = {
  operations: [forge.listPackages, forge.listOwnerPackages],
  output: listOf(forge.listPackages),
  define(command, cli, run = runPackageList): void {
    command
      .option(
        "--owner <name>",
        "of this user or organization; of all, for administrators, by default",
      )
      .option("--type <type>", "only this type, such as generic or npm")
      .option("--search <text>", "in the package's name")
      .action((flags: PackageListOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Prints all versions of the packages of an owner, or of all packages, newest first. */
async function runPackageList(cli: CliContext, options: PackageListOptions): Promise<void> {
  const query = { type: options.type, q: options.search };
  if (options.owner !== undefined) {
    const input = { params: { owner: options.owner }, query };
    await cli.output.list(forgePages(cli.client, forge.listOwnerPackages, input), packageColumns);
    return;
  }
  await cli.output.list(forgePages(cli.client, forge.listPackages, { query }), packageColumns);
}

const listVersions = {
  operations: [forge.listPackageVersions],
  output: listOf(forge.listPackageVersions),
  define(command, cli, run = runVersions): void {
    command
      .argument("<owner>", "the user or organization")
      .argument("<type>", "the type, such as npm")
      .argument("<name>", "the name of the package")
      .action((owner: string, type: string, name: string) => run(cli, { owner, type, name }));
  },
} satisfies CommandModule;

/** Prints the versions of a package, newest first. */
async function runVersions(
  cli: CliContext,
  params: Omit<PackageVersionOptions, "version">,
): Promise<void> {
  const pages = forgePages(cli.client, forge.listPackageVersions, { params });
  await cli.output.list(pages, packageColumns);
}

const viewPackage = {
  operations: [forge.getPackageVersion],
  output: resourceOf(forge.getPackageVersion),
  define(command, cli, run = runPackageView): void {
    takeVersion(command, (options) => run(cli, options));
  },
} satisfies CommandModule;

/** Prints a version of a package. */
async function runPackageView(cli: CliContext, options: PackageVersionOptions): Promise<void> {
  const { body } = await cli.client.call(forge.getPackageVersion, { params: { ...options } });
  await cli.output.resource(body, packageColumns);
}

const listPackageFiles = {
  operations: [forge.listPackageFiles],
  output: listOf(forge.listPackageFiles),
  define(command, cli, run = runPackageFiles): void {
    takeVersion(command, (options) => run(cli, options));
  },
} satisfies CommandModule;

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

interface PackageLinkOptions {
  readonly owner: string;
  readonly type: string;
  readonly name: string;
  /** Of the same owner. */
  readonly repository: string;
}

const linkPackage = {
  operations: [forge.linkPackage],
  output: shape({
    linked: "boolean",
    owner: "string",
    type: "string",
    name: "string",
    repository: "string",
  }),
  define(command, cli, run = runPackageLink): void {
    command
      .argument("<owner>", "the user or organization")
      .argument("<type>", "such as generic or npm")
      .argument("<name>", "the package, with its scope if it has one")
      .argument("<repository>", "the name of a repository of the same owner")
      .action((owner: string, type: string, name: string, repository: string) =>
        run(cli, { owner, type, name, repository }),
      );
  },
} satisfies CommandModule;

/** Links a package to a repository, whose hooks then receive its events. */
async function runPackageLink(cli: CliContext, options: PackageLinkOptions): Promise<void> {
  const { owner, type, name, repository } = options;
  await cli.client.call(forge.linkPackage, {
    params: { owner, type, name, repo_name: repository },
  });
  const label = `${type} package ${name} of ${owner}`;
  await cli.output.done({ linked: true, ...options }, `Linked the ${label} to ${repository}.`);
}

interface PackageUnlinkOptions {
  readonly owner: string;
  readonly type: string;
  readonly name: string;
}

const unlinkPackage = {
  operations: [forge.unlinkPackage],
  output: shape({
    unlinked: "boolean",
    owner: "string",
    type: "string",
    name: "string",
  }),
  define(command, cli, run = runPackageUnlink): void {
    command
      .argument("<owner>", "the user or organization")
      .argument("<type>", "such as generic or npm")
      .argument("<name>", "the package, with its scope if it has one")
      .action((owner: string, type: string, name: string) => run(cli, { owner, type, name }));
  },
} satisfies CommandModule;

/** Removes the link of a package to its repository. */
async function runPackageUnlink(cli: CliContext, options: PackageUnlinkOptions): Promise<void> {
  const { owner, type, name } = options;
  await cli.client.call(forge.unlinkPackage, { params: { owner, type, name } });
  const label = `${type} package ${name} of ${owner}`;
  await cli.output.done({ unlinked: true, ...options }, `Unlinked the ${label}.`);
}

export const deletePackage = {
  operations: [forge.deletePackageVersion],
  output: shape({
    deleted: "boolean",
    owner: "string",
    type: "string",
    name: "string",
    version: "string",
  }),
  destructive: true,
  define(command, cli, run = runPackageDelete): void {
    takeVersion(command, (options) => run(cli, options));
  },
} satisfies CommandModule;

/** Deletes a version of a package with its files, and the package with its last version. */
async function runPackageDelete(cli: CliContext, options: PackageVersionOptions): Promise<void> {
  const { owner, type, name, version } = options;
  const label = `${type} package ${name} ${version} of ${owner}`;
  await cli.prompts.confirm(`Delete the ${label}?`);
  await cli.client.call(forge.deletePackageVersion, { params: { owner, type, name, version } });
  await cli.output.done({ deleted: true, owner, type, name, version }, `Deleted the ${label}.`);
}

/** The version that a command is about. */
export interface PackageVersionOptions {
  readonly owner: string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
}

/** Adds the arguments that name a version to a command. */
function takeVersion(
  command: Command,
  run: (options: PackageVersionOptions) => Promise<void>,
): void {
  command
    .argument("<owner>", "the user or organization")
    .argument("<type>", "such as generic or npm")
    .argument("<name>", "the package, with its scope if it has one")
    .argument("<version>", "the version")
    .action((owner: string, type: string, name: string, version: string) =>
      run({ owner, type, name, version }),
    );
}

/** A version of a package in a table. */
const packageColumns: readonly Column<WirePackage>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "type", cell: ({ type }) => type },
  { header: "owner", cell: ({ owner }) => owner.login },
  { header: "name", cell: ({ name }) => name },
  { header: "version", cell: ({ version }) => version },
  { header: "creator", cell: ({ creator }) => creator.login },
  { header: "created", cell: ({ created_at: createdAt }) => createdAt },
];
