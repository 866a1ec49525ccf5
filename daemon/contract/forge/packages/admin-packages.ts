import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { anyoneWithin, empty, forgeUser, siteAdmin } from "../../endpoint.ts";
import { trimmedQueryText, wireId, wireTime } from "../common.ts";
import { packages, packagesOfOwner } from "../../permission.ts";
import { repositoryShape } from "../repositories/repositories.ts";
import { userShape } from "../accounts/users.ts";

/** Every type that the document knows; packages of `container`, `generic`, `npm` and `pypi` can be published here. */
const packageTypes = [
  "alpine",
  "cargo",
  "chef",
  "composer",
  "conan",
  "conda",
  "container",
  "cran",
  "debian",
  "generic",
  "go",
  "helm",
  "maven",
  "npm",
  "nuget",
  "pub",
  "pypi",
  "rpm",
  "rubygems",
  "swift",
  "terraform",
  "vagrant",
] as const;

/** A version of a package. `repository` is null when the viewer may not read it, or without one. */
const packageShape = z.object({
  id: wireId,
  owner: userShape,
  repository: repositoryShape.nullable(),
  creator: userShape,
  type: z.string(),
  name: z.string(),
  version: z.string(),
  html_url: z.string(),
  created_at: wireTime,
});
export type WirePackage = z.output<typeof packageShape>;

/** A file of a version. */
const packageFileShape = z.object({
  id: wireId,
  size: z.int(),
  name: z.string(),
  md5: z.string(),
  sha1: z.string(),
  sha256: z.string(),
  sha512: z.string(),
});
export type WirePackageFile = z.output<typeof packageFileShape>;

/** The part of a version's metadata that people read. Members that a type does not have are empty. */
const descriptionShape = z.object({
  summary: z.string(),
  readme: z.string(),
  /** Media type of the readme, such as `text/markdown`. */
  readme_type: z.string(),
  license: z.string(),
  home_page: z.string(),
  /** The version of the language that it needs, such as `>=3.9`. */
  requires: z.string(),
  /** What else it needs, such as `requests>=2`. */
  dependencies: z.array(z.string()),
});
export type WirePackageDescription = z.output<typeof descriptionShape>;

const versionParams = z.object({
  owner: z.string(),
  type: z.string(),
  name: z.string(),
  version: z.string(),
});

const packageParams = z.object({ owner: z.string(), type: z.string(), name: z.string() });

export const packageEndpoints = {
  ...resource(
    {
      name: "forge.admin.packages",
      path: "/api/v1/admin/packages",
      shape: packageShape,
      gate: siteAdmin,
    },
    ({ list }) => ({
      listPackages: list("All versions of all packages, newest first", {
        filters: {
          type: trimmedQueryText.meta({ enum: [...packageTypes] }),
          q: trimmedQueryText,
        },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.packages",
      path: "/api/v1/packages/:owner",
      params: z.object({ owner: z.string() }),
      shape: packageShape,
      gate: anyoneWithin("package"),
      on: packages("read"),
    },
    ({ list }) => ({
      listOwnerPackages: list("All versions of the packages of an owner, newest first", {
        filters: {
          type: trimmedQueryText.meta({ enum: [...packageTypes] }),
          q: trimmedQueryText,
        },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.packages.versions",
      path: "/api/v1/packages/:owner/:type/:name",
      params: packageParams,
      shape: packageShape,
      gate: anyoneWithin("package"),
      on: packages("read"),
    },
    ({ list, operation }) => ({
      listPackageVersions: list("The versions of a package, newest first"),
      getLatestPackageVersion: operation({
        method: "GET",
        at: "-/latest",
        summary: "The newest version of a package",
        replies: { 200: packageShape },
        apiOnly: "croft admin package versions shows it first",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.packages",
      path: "/api/v1/packages/:owner/:type/:name",
      params: packageParams,
      gate: forgeUser("package"),
      on: packages("write"),
    },
    ({ remove }) => ({
      deletePackage: remove("Delete a package with all of its versions", {
        apiOnly: "croft admin package delete deletes a version, the last one with its package",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.packages.versions",
      path: "/api/v1/packages/:owner/:type/:name/:version",
      params: versionParams,
      shape: packageShape,
      gate: openTo("package"),
      on: packagesOfOwner,
    },
    ({ get, remove }) => ({
      getPackageVersion: get("A version of a package"),
      deletePackageVersion: remove(
        "Delete a version of a package, and the package with its last version",
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.packages.files",
      path: "/api/v1/packages/:owner/:type/:name/:version/files",
      params: versionParams,
      gate: anyoneWithin("package"),
      on: packages("read"),
    },
    ({ operation }) => ({
      listPackageFiles: operation({
        as: "list",
        method: "GET",
        summary: "The files of a version",
        replies: { 200: z.array(packageFileShape) },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.packages.versions",
      path: "/api/v1/packages/:owner/:type/:name/:version/description",
      params: versionParams,
      gate: anyoneWithin("package"),
      on: packages("read"),
    },
    ({ operation }) => ({
      getPackageDescription: operation({
        as: "describe",
        method: "GET",
        summary: "The readme of a version, its license and what it needs",
        replies: { 200: descriptionShape },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.packages",
      path: "/api/v1/packages/:owner/:type/:name/-",
      gate: forgeUser("package"),
      on: packages("write"),
    },
    ({ operation }) => ({
      linkPackage: operation({
        as: "link",
        method: "POST",
        at: "link/:repo_name",
        summary:
          "Link a package to a repository of the same owner, whose hooks receive its events from then on",
        params: packageParams.extend({ repo_name: z.string() }),
        replies: { 201: empty },
      }),
      unlinkPackage: operation({
        method: "POST",
        at: "unlink",
        summary: "Link a package to no repository any more",
        params: packageParams,
        replies: { 201: empty },
      }),
    }),
  ),
};
