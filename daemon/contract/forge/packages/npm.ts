import { z } from "zod";
import { anyoneWithin, bytes, endpoint, forgeUser, stream } from "../../endpoint.ts";
import { queryInteger, queryText } from "../common.ts";
import { toolError, toolRefusals } from "./tool-error.ts";

// Members are spelled as npm reads and writes them.

const spokenByNpm = "npm itself speaks it";
const read = anyoneWithin("package");
const write = forgeUser("package");

const root = "/api/packages/:owner/npm";
const jsonBody = stream("application/json");
const done = z.object({ ok: z.literal(true) });

const writeReplies = { ...toolRefusals, 409: toolError, 413: toolError, 507: toolError } as const;

/** A name, or a scope and a name if they are separate segments. */
const packageParams = z.object({
  owner: z.string(),
  scope: z.string().optional(),
  name: z.string(),
});
const tarballParams = packageParams.extend({ filename: z.string() });
const revisionParams = packageParams.extend({ revision: z.string() });
const tarballRevisionParams = tarballParams.extend({ revision: z.string() });
const tagParams = packageParams.extend({ tag: z.string() });

/** Clients write `@scope%2fname`, which is one segment, and `@scope/name`, which is two. */
const inBothForms = <E>(
  declare: (form: { readonly label: string; readonly at: ":name" | ":scope/:name" }) => E,
): readonly [E, E] => [
  declare({ label: "", at: ":name" }),
  declare({ label: "scoped.", at: ":scope/:name" }),
];

export const viewNpmPackage = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}view`,
    method: "GET",
    path: `${root}/${at}`,
    summary: "A package with its versions; abbreviated if the client requests that media type",
    gate: read,
    params: packageParams,
    replies: { 200: bytes, ...toolRefusals },
    apiOnly: spokenByNpm,
  }),
);

export const publishNpmPackage = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}publish`,
    method: "PUT",
    path: `${root}/${at}`,
    summary: "Publish a version, or change the deprecation of versions",
    gate: write,
    params: packageParams,
    body: jsonBody,
    replies: { 201: done, ...writeReplies },
    apiOnly: spokenByNpm,
  }),
);

export const downloadNpmTarball = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}download`,
    method: "GET",
    path: `${root}/${at}/-/:filename`,
    summary: "The tarball of a version",
    gate: read,
    params: tarballParams,
    replies: { 200: bytes, ...toolRefusals, 503: toolError },
    apiOnly: spokenByNpm,
  }),
);

export const reviseNpmPackage = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}revise`,
    method: "PUT",
    path: `${root}/${at}/-rev/:revision`,
    summary: "Unpublish the versions that the document no longer has",
    gate: write,
    params: revisionParams,
    body: jsonBody,
    replies: { 200: done, ...writeReplies },
    apiOnly: spokenByNpm,
  }),
);

export const unpublishNpmPackage = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}unpublish`,
    method: "DELETE",
    path: `${root}/${at}/-rev/:revision`,
    summary: "Unpublish a package with all its versions",
    gate: write,
    params: revisionParams,
    replies: { 200: done, ...writeReplies },
    apiOnly: spokenByNpm,
  }),
);

export const deleteNpmTarball = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}delete_tarball`,
    method: "DELETE",
    path: `${root}/${at}/-/:filename/-rev/:revision`,
    summary: "Unpublish the version of a tarball",
    gate: write,
    params: tarballRevisionParams,
    replies: { 200: done, ...writeReplies },
    apiOnly: spokenByNpm,
  }),
);

export const listNpmTags = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}tags.list`,
    method: "GET",
    path: `${root}/-/package/${at}/dist-tags`,
    summary: "The distribution tags of a package",
    gate: read,
    params: packageParams,
    replies: { 200: z.record(z.string(), z.string()), ...toolRefusals },
    apiOnly: spokenByNpm,
  }),
);

export const setNpmTag = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}tags.set`,
    method: "PUT",
    path: `${root}/-/package/${at}/dist-tags/:tag`,
    summary: "Set a distribution tag to a version",
    gate: write,
    params: tagParams,
    body: jsonBody,
    replies: { 200: done, ...writeReplies },
    apiOnly: spokenByNpm,
  }),
);

export const deleteNpmTag = inBothForms(({ label, at }) =>
  endpoint({
    name: `forge.packages.npm.${label}tags.delete`,
    method: "DELETE",
    path: `${root}/-/package/${at}/dist-tags/:tag`,
    summary: "Delete a distribution tag",
    gate: write,
    params: tagParams,
    replies: { 200: done, ...writeReplies },
    apiOnly: spokenByNpm,
  }),
);

const person = z.object({ username: z.string() });

/** A search result: the newest version of a package. */
export const searchResultShape = z.object({
  objects: z.array(
    z.object({
      package: z.object({
        name: z.string(),
        version: z.string(),
        description: z.string(),
        keywords: z.array(z.string()),
        date: z.string(),
        links: z.object({ registry: z.string() }),
        publisher: person,
        maintainers: z.array(person),
      }),
    }),
  ),
  total: z.int(),
  time: z.string(),
});

export const searchNpmPackages = endpoint({
  name: "forge.packages.npm.search",
  method: "GET",
  path: `${root}/-/v1/search`,
  summary: "The packages whose name has a text in it",
  gate: read,
  params: z.object({ owner: z.string() }),
  query: z.object({ text: queryText, size: queryInteger, from: queryInteger }),
  replies: { 200: searchResultShape, ...toolRefusals },
  apiOnly: spokenByNpm,
});

export const npmWhoami = endpoint({
  name: "forge.packages.npm.whoami",
  method: "GET",
  path: `${root}/-/whoami`,
  summary: "Whose credentials these are",
  gate: write,
  params: z.object({ owner: z.string() }),
  replies: { 200: person, ...toolRefusals },
  apiOnly: spokenByNpm,
});

export const npmPing = endpoint({
  name: "forge.packages.npm.ping",
  method: "GET",
  path: `${root}/-/ping`,
  summary: "Whether the registry answers",
  gate: read,
  params: z.object({ owner: z.string() }),
  replies: { 200: z.object({}), ...toolRefusals },
  apiOnly: spokenByNpm,
});

/** The answers of a registry without advisories, in the forms of npm 7 and later, and of npm 6. */
export const auditNpmPackages = endpoint({
  name: "forge.packages.npm.audit",
  method: "POST",
  path: `${root}/-/npm/v1/security/advisories/bulk`,
  summary: "The security advisories for packages: none are kept",
  gate: read,
  params: z.object({ owner: z.string() }),
  replies: { 200: z.object({}), ...toolRefusals },
  apiOnly: spokenByNpm,
});

export const auditNpmTree = endpoint({
  name: "forge.packages.npm.audit_tree",
  method: "POST",
  path: `${root}/-/npm/v1/security/audits/quick`,
  summary: "The security advisories for a tree of packages: none are kept",
  gate: read,
  params: z.object({ owner: z.string() }),
  replies: {
    200: z.looseObject({ advisories: z.object({}) }),
    ...toolRefusals,
  },
  apiOnly: spokenByNpm,
});

export const npmPackageEndpoints = {
  viewNpmPackage: viewNpmPackage[0],
  viewScopedNpmPackage: viewNpmPackage[1],
  publishNpmPackage: publishNpmPackage[0],
  publishScopedNpmPackage: publishNpmPackage[1],
  downloadNpmTarball: downloadNpmTarball[0],
  downloadScopedNpmTarball: downloadNpmTarball[1],
  reviseNpmPackage: reviseNpmPackage[0],
  reviseScopedNpmPackage: reviseNpmPackage[1],
  unpublishNpmPackage: unpublishNpmPackage[0],
  unpublishScopedNpmPackage: unpublishNpmPackage[1],
  deleteNpmTarball: deleteNpmTarball[0],
  deleteScopedNpmTarball: deleteNpmTarball[1],
  listNpmTags: listNpmTags[0],
  listScopedNpmTags: listNpmTags[1],
  setNpmTag: setNpmTag[0],
  setScopedNpmTag: setNpmTag[1],
  deleteNpmTag: deleteNpmTag[0],
  deleteScopedNpmTag: deleteNpmTag[1],
  searchNpmPackages,
  auditNpmPackages,
  auditNpmTree,
  npmWhoami,
  npmPing,
};
