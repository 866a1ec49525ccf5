import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser, siteAdmin } from "../../endpoint.ts";
import {
  apiError,
  paging,
  signedInReplies,
  trimmedQueryText,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryShape } from "../repositories/repositories.ts";
import { userShape } from "../accounts/users.ts";

/** Every type that the document knows; packages of `generic` and `npm` can be published here. */
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

const versionPath = "/api/v1/packages/:owner/:type/:name/:version";
const versionParams = z.object({
  owner: z.string(),
  type: z.string(),
  name: z.string(),
  version: z.string(),
});

export const listPackages = endpoint({
  name: "forge.admin.packages.list",
  method: "GET",
  path: "/api/v1/admin/packages",
  summary: "All versions of all packages, newest first",
  gate: siteAdmin,
  query: z.object({
    type: trimmedQueryText.meta({ enum: [...packageTypes] }),
    q: trimmedQueryText,
    ...paging,
  }),
  paging: "link_and_total",
  replies: { 200: z.array(packageShape), ...signedInReplies },
});

export const listOwnerPackages = endpoint({
  name: "forge.packages.list",
  method: "GET",
  path: "/api/v1/packages/:owner",
  summary: "All versions of the packages of an owner, newest first",
  gate: anyoneWithin("package"),
  params: z.object({ owner: z.string() }),
  query: z.object({
    type: trimmedQueryText.meta({ enum: [...packageTypes] }),
    q: trimmedQueryText,
    ...paging,
  }),
  paging: "link_and_total",
  replies: { 200: z.array(packageShape), ...signedInReplies, 404: apiError },
});

const packageParams = z.object({ owner: z.string(), type: z.string(), name: z.string() });

export const listPackageVersions = endpoint({
  name: "forge.packages.versions.list",
  method: "GET",
  path: "/api/v1/packages/:owner/:type/:name",
  summary: "The versions of a package, newest first",
  gate: anyoneWithin("package"),
  params: packageParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(packageShape), ...signedInReplies, 404: apiError },
});

export const getLatestPackageVersion = endpoint({
  name: "forge.packages.versions.latest",
  method: "GET",
  path: "/api/v1/packages/:owner/:type/:name/-/latest",
  summary: "The newest version of a package",
  gate: anyoneWithin("package"),
  params: packageParams,
  replies: { 200: packageShape, ...signedInReplies, 404: apiError },
  apiOnly: "croft admin package versions shows it first",
});

export const deletePackage = endpoint({
  name: "forge.packages.delete",
  method: "DELETE",
  path: "/api/v1/packages/:owner/:type/:name",
  summary: "Delete a package with all of its versions",
  gate: forgeUser("package"),
  params: packageParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
  apiOnly: "croft admin package delete deletes a version, the last one with its package",
});

export const getPackageVersion = endpoint({
  name: "forge.packages.versions.get",
  method: "GET",
  path: versionPath,
  summary: "A version of a package",
  gate: anyoneWithin("package"),
  params: versionParams,
  replies: { 200: packageShape, ...signedInReplies, 404: apiError },
});

export const deletePackageVersion = endpoint({
  name: "forge.packages.versions.delete",
  method: "DELETE",
  path: versionPath,
  summary: "Delete a version of a package, and the package with its last version",
  gate: forgeUser("package"),
  params: versionParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const listPackageFiles = endpoint({
  name: "forge.packages.files.list",
  method: "GET",
  path: `${versionPath}/files`,
  summary: "The files of a version",
  gate: anyoneWithin("package"),
  params: versionParams,
  replies: { 200: z.array(packageFileShape), ...signedInReplies, 404: apiError },
});

export const linkPackage = endpoint({
  name: "forge.packages.link",
  method: "POST",
  path: "/api/v1/packages/:owner/:type/:name/-/link/:repo_name",
  summary:
    "Link a package to a repository of the same owner, whose hooks receive its events from then on",
  gate: forgeUser("package"),
  params: packageParams.extend({ repo_name: z.string() }),
  replies: { 201: empty, ...signedInReplies, 404: apiError },
});

export const unlinkPackage = endpoint({
  name: "forge.packages.unlink",
  method: "POST",
  path: "/api/v1/packages/:owner/:type/:name/-/unlink",
  summary: "Link a package to no repository any more",
  gate: forgeUser("package"),
  params: packageParams,
  replies: { 201: empty, ...signedInReplies, 404: apiError },
});

export const packageEndpoints = {
  listPackages,
  listOwnerPackages,
  listPackageVersions,
  getLatestPackageVersion,
  deletePackage,
  getPackageVersion,
  deletePackageVersion,
  listPackageFiles,
  linkPackage,
  unlinkPackage,
};
