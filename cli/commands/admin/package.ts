import type { WirePackage } from "../../../daemon/contract/forge/packages/admin-packages.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { Column } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import type { CommandDefinition, Entry, Verb } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

/** The arguments that name a version. */
export const versionArguments = {
  "<owner>": "the user or organization",
  "<type>": "such as container, generic, npm or pypi",
  "<name>": "the package, with its scope if it has one",
  "<version>": "the version",
} as const;

export const entries: readonly Entry[] = [
  command("list", "List and search packages", {
    aliases: ["ls"],
    flags: {
      "--owner <name>": "of this user or organization; of all, for administrators, by default",
      "--type <type>": "only this type, such as generic, npm or pypi",
      "--search <text>": "in the package's name",
    },
    calls: [forge.listPackages, forge.listOwnerPackages],
    output: listOf(forge.listPackages),
    examples: [
      ["List npm packages", "croft admin package list --type npm"],
      ["Search packages", "croft admin package list --search tools"],
    ],
    /** Prints all versions of the packages of an owner, or of all packages, newest first. */
    async run(cli, options) {
      const query = { type: options.type, q: options.search };
      if (options.owner !== undefined) {
        const input = { params: { owner: options.owner }, query };
        await cli.output.list(
          forgePages(cli.client, forge.listOwnerPackages, input),
          packageColumns,
        );
        return;
      }
      await cli.output.list(forgePages(cli.client, forge.listPackages, { query }), packageColumns);
    },
  }),
  command("versions", "List the versions of a package", {
    args: {
      "<owner>": "the user or organization",
      "<type>": "the type, such as npm",
      "<name>": "the name of the package",
    },
    calls: [forge.listPackageVersions],
    output: listOf(forge.listPackageVersions),
    examples: [
      ["List the versions of a package", "croft admin package versions keeper npm tools"],
      [
        "Print the newest one",
        "croft admin package versions keeper npm tools --limit 1 --jq '.[0].version'",
      ],
    ],
    /** Prints the versions of a package, newest first. */
    async run(cli, params) {
      const pages = forgePages(cli.client, forge.listPackageVersions, { params });
      await cli.output.list(pages, packageColumns);
    },
  }),
  command("view", "Show a package version", {
    args: versionArguments,
    calls: [forge.getPackageVersion],
    output: resourceOf(forge.getPackageVersion),
    examples: [
      ["Show a version", "croft admin package view acme generic tools 1.2.0"],
      [
        "Print its creator",
        "croft admin package view acme generic tools 1.2.0 --jq .creator.login",
      ],
    ],
    async run(cli, params) {
      const { body } = await cli.client.call(forge.getPackageVersion, { params });
      await cli.output.resource(body, packageColumns);
    },
  }),
  command("files", "List the files of a package version", {
    args: versionArguments,
    calls: [forge.listPackageFiles],
    output: listOf(forge.listPackageFiles),
    examples: [
      ["List the files of a version", "croft admin package files acme generic tools 1.2.0"],
      [
        "Print names and checksums",
        "croft admin package files acme generic tools 1.2.0 --template '{{.sha256}} {{.name}}'",
      ],
    ],
    /** Prints the files of a version, in the order of their upload. */
    async run(cli, params) {
      const pages = forgePages(cli.client, forge.listPackageFiles, { params });
      await cli.output.list(pages, [
        { header: "id", cell: ({ id }) => id },
        { header: "name", cell: ({ name }) => name },
        { header: "size", cell: ({ size }) => size },
        { header: "sha256", cell: ({ sha256 }) => sha256 },
      ]);
    },
  }),
  command("link", "Link a package to a repository", {
    args: {
      "<owner>": "the user or organization",
      "<type>": "such as generic, npm or pypi",
      "<name>": "the package, with its scope if it has one",
      "<repository>": "the name of a repository of the same owner",
    },
    calls: [forge.linkPackage],
    output: shape({
      linked: "boolean",
      owner: "string",
      type: "string",
      name: "string",
      repository: "string",
    }),
    examples: [
      ["Link a package to a repository", "croft admin package link acme generic tools notes"],
      ["Show the request only", "croft admin package link acme generic tools notes --dry-run"],
    ],
    /** Links a package to a repository, whose hooks then receive its events. */
    async run(cli, options) {
      const { owner, type, name, repository } = options;
      await cli.client.call(forge.linkPackage, {
        params: { owner, type, name, repo_name: repository },
      });
      const label = `${type} package ${name} of ${owner}`;
      await cli.output.done({ linked: true, ...options }, `Linked the ${label} to ${repository}.`);
    },
  }),
  command("unlink", "Unlink a package from its repository", {
    args: {
      "<owner>": "the user or organization",
      "<type>": "such as generic, npm or pypi",
      "<name>": "the package, with its scope if it has one",
    },
    calls: [forge.unlinkPackage],
    output: shape({
      unlinked: "boolean",
      owner: "string",
      type: "string",
      name: "string",
    }),
    examples: [
      ["Unlink a package", "croft admin package unlink acme generic tools"],
      ["Show the request only", "croft admin package unlink acme generic tools --dry-run"],
    ],
    /** Removes the link of a package to its repository. */
    async run(cli, options) {
      const { owner, type, name } = options;
      await cli.client.call(forge.unlinkPackage, { params: { owner, type, name } });
      const label = `${type} package ${name} of ${owner}`;
      await cli.output.done({ unlinked: true, ...options }, `Unlinked the ${label}.`);
    },
  }),
  deletePackageCommand([
    ["Delete a version", "croft admin package delete acme generic tools 1.2.0 --yes"],
    ["Show the request only", "croft admin package delete acme generic tools 1.2.0 --dry-run"],
  ]),
];

/** Declares the command that deletes a version, with examples by the name of its group. */
export function deletePackageCommand(examples: CommandDefinition["examples"]): Verb {
  return command("delete", "Delete a package version", {
    aliases: ["rm"],
    args: versionArguments,
    calls: [forge.deletePackageVersion],
    output: shape({
      deleted: "boolean",
      owner: "string",
      type: "string",
      name: "string",
      version: "string",
    }),
    destructive: true,
    examples,
    /** Deletes a version with its files, and the package with its last version; an image goes with its last tag. */
    async run(cli, params) {
      const { owner, type, name, version } = params;
      const label = `${type} package ${name} ${version} of ${owner}`;
      await cli.prompts.confirm(`Delete the ${label}?`);
      await cli.client.call(forge.deletePackageVersion, { params });
      await cli.output.done({ deleted: true, owner, type, name, version }, `Deleted the ${label}.`);
    },
  });
}

/** A version of a package in a table. */
export const packageColumns: readonly Column<WirePackage>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "type", cell: ({ type }) => type },
  { header: "owner", cell: ({ owner }) => owner.login },
  { header: "name", cell: ({ name }) => name },
  { header: "version", cell: ({ version }) => version },
  { header: "creator", cell: ({ creator }) => creator.login },
  { header: "created", cell: ({ created_at: createdAt }) => createdAt },
];
