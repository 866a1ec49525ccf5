import { z } from "zod";
import { bytes, stream } from "../../endpoint.ts";
import { packages, packagesOfOwner } from "../../permission.ts";
import { queryInteger, queryText } from "../common.ts";
import { openTo, resource } from "../resource.ts";
import { toolError } from "./tool-error.ts";

// Members are spelled as npm reads and writes them.

const apiOnly = "npm itself speaks it";
const root = "/api/packages/:owner/npm";
const jsonBody = stream("application/json");
const done = z.object({ ok: z.literal(true) });
const gate = openTo("package");
/** Every operation may give these; a registry has no 422 for what npm itself sends. */
const refused = [400, 401, 403, 404] as const;
const writing = { refusesOnly: [...refused, 409, 413, 507], apiOnly } as const;
const removing = { refusesOnly: [...refused, 409], apiOnly } as const;
const reading = { refusesOnly: refused, apiOnly } as const;

/** A name, or a scope and a name if they are separate segments. */
const packageParams = z.object({
  owner: z.string(),
  scope: z.string().optional(),
  name: z.string(),
});

/** How a client writes the name of a package: `@scope%2fname` is one segment, `@scope/name` two. */
interface NameForm {
  readonly label: "" | ".scoped";
  readonly at: ":name" | ":scope/:name";
}

const packageOperations = ({ label, at }: NameForm) =>
  resource(
    {
      name: `forge.packages.npm${label}`,
      path: `${root}/${at}`,
      params: packageParams,
      gate,
      on: packagesOfOwner,
      refusal: toolError,
    },
    ({ operation }) => ({
      view: operation({
        as: "view",
        method: "GET",
        summary: "A package with its versions; abbreviated if the client requests that media type",
        replies: { 200: bytes },
        ...reading,
      }),
      publish: operation({
        as: "publish",
        method: "PUT",
        summary: "Publish a version, or change the deprecation of versions",
        body: jsonBody,
        replies: { 201: done },
        ...writing,
      }),
      download: operation({
        as: "download",
        method: "GET",
        at: "-/:filename",
        params: packageParams.extend({ filename: z.string() }),
        summary: "The tarball of a version",
        replies: { 200: bytes },
        refusesOnly: [...refused, 503],
        apiOnly,
      }),
      revise: operation({
        as: "revise",
        method: "PUT",
        at: "-rev/:revision",
        params: packageParams.extend({ revision: z.string() }),
        summary: "Unpublish the versions that the document no longer has",
        body: jsonBody,
        replies: { 200: done },
        ...writing,
      }),
      unpublish: operation({
        as: "unpublish",
        method: "DELETE",
        at: "-rev/:revision",
        params: packageParams.extend({ revision: z.string() }),
        summary: "Unpublish a package with all its versions",
        replies: { 200: done },
        ...removing,
      }),
      deleteTarball: operation({
        as: "delete_tarball",
        method: "DELETE",
        at: "-/:filename/-rev/:revision",
        params: packageParams.extend({ filename: z.string(), revision: z.string() }),
        summary: "Unpublish the version of a tarball",
        replies: { 200: done },
        ...reading,
      }),
    }),
  );

const tagOperations = ({ label, at }: NameForm) =>
  resource(
    {
      name: `forge.packages.npm${label}.tags`,
      path: `${root}/-/package/${at}/dist-tags`,
      params: packageParams,
      id: { tag: z.string() },
      gate,
      on: packagesOfOwner,
      refusal: toolError,
    },
    ({ operation }) => ({
      listTags: operation({
        as: "list",
        method: "GET",
        summary: "The distribution tags of a package",
        replies: { 200: z.record(z.string(), z.string()) },
        ...reading,
      }),
      setTag: operation({
        as: "set",
        method: "PUT",
        item: true,
        summary: "Set a distribution tag to a version",
        body: jsonBody,
        replies: { 200: done },
        refusesOnly: [...refused, 413, 507],
        apiOnly,
      }),
      deleteTag: operation({
        as: "delete",
        method: "DELETE",
        item: true,
        summary: "Delete a distribution tag",
        replies: { 200: done },
        ...reading,
      }),
    }),
  );

const inOneForm = (form: NameForm) => ({ ...packageOperations(form), ...tagOperations(form) });
const plain = inOneForm({ label: "", at: ":name" });
const scoped = inOneForm({ label: ".scoped", at: ":scope/:name" });

/** The operations on one package, for both forms of its name. */
export const namedNpmPackages = [plain, scoped] as const;

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

export const npmRegistryEndpoints = resource(
  {
    name: "forge.packages.npm",
    path: `${root}/-`,
    params: z.object({ owner: z.string() }),
    gate: gate.read,
    refusal: toolError,
  },
  ({ operation }) => ({
    searchNpmPackages: operation({
      as: "search",
      method: "GET",
      at: "v1/search",
      summary: "The packages whose name has a text in it",
      query: z.object({ text: queryText, size: queryInteger, from: queryInteger }),
      on: packages("read"),
      replies: { 200: searchResultShape },
      refusesOnly: [...refused, 422],
      apiOnly,
    }),
    npmWhoami: operation({
      method: "GET",
      at: "whoami",
      summary: "Whose credentials these are",
      gate: gate.change,
      replies: { 200: person },
      ...reading,
    }),
    npmPing: operation({
      method: "GET",
      at: "ping",
      summary: "Whether the registry answers",
      replies: { 200: z.object({}) },
      ...reading,
    }),
    // The answers of a registry without advisories, in the forms of npm 7 and later, and of npm 6.
    auditNpmPackages: operation({
      as: "audit",
      method: "POST",
      at: "npm/v1/security/advisories/bulk",
      summary: "The security advisories for packages: none are kept",
      replies: { 200: z.object({}) },
      on: packages("read"),
      ...reading,
    }),
    auditNpmTree: operation({
      as: "audit_tree",
      method: "POST",
      at: "npm/v1/security/audits/quick",
      summary: "The security advisories for a tree of packages: none are kept",
      replies: { 200: z.looseObject({ advisories: z.object({}) }) },
      on: packages("read"),
      ...reading,
    }),
  }),
);

export const npmPackageEndpoints = {
  viewNpmPackage: plain.view,
  viewScopedNpmPackage: scoped.view,
  publishNpmPackage: plain.publish,
  publishScopedNpmPackage: scoped.publish,
  downloadNpmTarball: plain.download,
  downloadScopedNpmTarball: scoped.download,
  reviseNpmPackage: plain.revise,
  reviseScopedNpmPackage: scoped.revise,
  unpublishNpmPackage: plain.unpublish,
  unpublishScopedNpmPackage: scoped.unpublish,
  deleteNpmTarball: plain.deleteTarball,
  deleteScopedNpmTarball: scoped.deleteTarball,
  listNpmTags: plain.listTags,
  listScopedNpmTags: scoped.listTags,
  setNpmTag: plain.setTag,
  setScopedNpmTag: scoped.setTag,
  deleteNpmTag: plain.deleteTag,
  deleteScopedNpmTag: scoped.deleteTag,
  searchNpmPackages: npmRegistryEndpoints.searchNpmPackages,
  auditNpmPackages: npmRegistryEndpoints.auditNpmPackages,
  auditNpmTree: npmRegistryEndpoints.auditNpmTree,
  npmWhoami: npmRegistryEndpoints.npmWhoami,
  npmPing: npmRegistryEndpoints.npmPing,
};
