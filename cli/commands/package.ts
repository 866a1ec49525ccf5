import type { WireContainerImage } from "../../daemon/contract/forge/packages/containers.ts";
import type { WirePackageDescription } from "../../daemon/contract/forge/packages/admin-packages.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf } from "../output/spec.ts";
import { toLogins } from "../support/person.ts";
import { command } from "../tree/command.ts";
import type { Entry } from "../tree/entry.ts";
import { deletePackageCommand, packageColumns, versionArguments } from "./admin/package.ts";

export const entries: readonly Entry[] = [
  command("list", "List the packages of a user or an organization", {
    aliases: ["ls"],
    args: { "[owner]": "the user or organization; you by default" },
    flags: {
      "--type <type>": "only this type, such as container, npm, pypi or generic",
      "--search <text>": "in the package's name",
    },
    calls: [forge.listOwnerPackages, forge.getCurrentUser],
    output: listOf(forge.listOwnerPackages),
    examples: [
      ["List your packages", "croft package list"],
      ["List the container images of an organization", "croft package list acme --type container"],
    ],
    /** Prints versions of packages, newest first. */
    async run(cli, { owner: named = "@me", type, search }) {
      const [owner] = await toLogins(cli, [named] as const);
      const input = { params: { owner }, query: { type, q: search } };
      await cli.output.list(forgePages(cli.client, forge.listOwnerPackages, input), packageColumns);
    },
  }),
  command("view", "Show a package version", {
    args: versionArguments,
    calls: [forge.getPackageVersion],
    output: resourceOf(forge.getPackageVersion),
    examples: [
      ["Show a version", "croft package view acme npm tools 1.2.0"],
      ["Show a tag of an image", "croft package view acme container tools latest"],
    ],
    async run(cli, params) {
      const { body } = await cli.client.call(forge.getPackageVersion, { params });
      await cli.output.resource(body, packageColumns);
    },
  }),
  command("readme", "Print the readme of a package version", {
    args: versionArguments,
    calls: [forge.getPackageDescription],
    output: resourceOf(forge.getPackageDescription),
    examples: [
      ["Print a readme", "croft package readme acme pypi tools 1.2.0 --jq .readme"],
      [
        "Print what a version needs",
        "croft package readme acme npm tools 1.2.0 --jq .dependencies[]",
      ],
    ],
    /** Prints summary, license, requirements and readme of a version. */
    async run(cli, params) {
      const { body } = await cli.client.call(forge.getPackageDescription, { params });
      await cli.output.resource(body, descriptionColumns);
    },
  }),
  command("image", "Show a container image", {
    args: {
      "<owner>": "the user or organization",
      "<name>": "the image, such as tools",
      "<version>": "a tag, or the digest of a manifest",
    },
    calls: [forge.getContainerImage],
    output: resourceOf(forge.getContainerImage),
    examples: [
      ["Show an image", "croft package image acme tools latest"],
      ["Print what docker pulls", "croft package image acme tools latest --jq .reference"],
    ],
    /** Prints digest, size, platforms, labels and tags of an image. */
    async run(cli, params) {
      const { body } = await cli.client.call(forge.getContainerImage, { params });
      await cli.output.resource(body, imageColumns);
    },
  }),
  deletePackageCommand([
    ["Delete a version", "croft package delete acme generic tools 1.2.0 --yes"],
    ["Delete a tag of an image", "croft package delete acme container tools old --yes"],
  ]),
];

const descriptionColumns: readonly Column<WirePackageDescription>[] = [
  { header: "summary", cell: ({ summary }) => summary },
  { header: "license", cell: ({ license }) => license },
  { header: "home page", cell: ({ home_page }) => home_page },
  { header: "requires", cell: ({ requires }) => requires },
  { header: "dependencies", cell: ({ dependencies }) => dependencies.join(", ") },
  { header: "readme", cell: ({ readme }) => readme },
];

const imageColumns: readonly Column<WireContainerImage>[] = [
  { header: "reference", cell: ({ reference }) => reference },
  { header: "digest", cell: ({ digest }) => digest },
  { header: "size", cell: ({ size }) => size },
  { header: "platforms", cell: ({ platforms }) => platforms.join(", ") },
  { header: "tags", cell: ({ tags }) => tags.join(", ") },
];
