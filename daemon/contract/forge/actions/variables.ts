import { z } from "zod";
import { empty, forgeUser, type Gate, siteAdminOfAll } from "../../endpoint.ts";
import { optionalText, wireId } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { organization, ownAccount, type Permission, repository } from "../../permission.ts";
import { resource } from "../resource.ts";

const DESCRIPTION_MAX = 4096;
/** The value is required, and not empty. */
const value = z.string({ error: "Required" }).min(1, "Required");

/** A variable; the ids of other levels are 0. */
const variableShape = z.object({
  owner_id: wireId,
  repo_id: wireId,
  name: z.string(),
  data: z.string(),
  description: z.string(),
});
export type WireVariable = z.output<typeof variableShape>;

const newVariable = z.object({ value, description: optionalText({ max: DESCRIPTION_MAX }) });
/** An empty name keeps the name. */
const changedVariable = newVariable.extend({ name: optionalText() });

/**
 * The level of the variables: a repository, an organization, a user or the instance. `shape` has the parameters of
 * the path.
 */
interface VariablePlace<
  P extends string,
  G extends Gate,
  S extends z.ZodRawShape,
  On extends Permission = never,
> {
  readonly name: string;
  /** The path between `/api/v1/` and `/actions`. */
  readonly below: P;
  readonly gate: G;
  readonly on?: On;
  readonly shape: S;
  readonly of: string;
  readonly acceptsArchived?: true;
}

/** Declares the routes of the variables of one level. */
function declareVariables<
  const P extends string,
  const G extends Gate,
  S extends z.ZodRawShape,
  const On extends Permission = never,
>({ name, below, shape, of, ...common }: VariablePlace<P, G, S, On>) {
  return resource(
    {
      name,
      path: `/api/v1/${below}/actions/variables`,
      params: z.object(shape),
      id: { variablename: z.string() },
      shape: variableShape,
      ...common,
    },
    ({ list, get, remove, operation }) => ({
      list: list(`List the variables of ${of}`),
      get: get(`Get a variable of ${of}`, { refuses: [400] }),
      create: operation({
        as: "create",
        method: "POST",
        item: true,
        summary: `Create a variable of ${of}`,
        body: newVariable,
        replies: { 201: empty },
        refuses: [400, 409],
      }),
      edit: operation({
        as: "edit",
        method: "PUT",
        item: true,
        summary: `Change a variable of ${of}`,
        body: changedVariable,
        replies: { 204: empty },
        refuses: [400, 409],
      }),
      delete: remove(`Delete a variable of ${of}`, { refuses: [400] }),
    }),
  );
}

export const repositoryVariables = declareVariables({
  name: "forge.repos.actions.variables",
  below: "repos/:owner/:repo",
  gate: forgeUser("repository"),
  on: repository("actions", "owner"),
  shape: repositoryParams.shape,
  of: "a repository",
  acceptsArchived: true,
});

export const organizationVariables = declareVariables({
  name: "forge.orgs.actions.variables",
  below: "orgs/:org",
  gate: forgeUser("organization"),
  on: organization("owner"),
  shape: { org: z.string() },
  of: "an organization",
});

export const ownVariables = declareVariables({
  name: "forge.user.actions.variables",
  below: "user",
  gate: forgeUser("user"),
  on: ownAccount,
  shape: {},
  of: "your own repositories",
});

export const instanceVariables = declareVariables({
  name: "forge.admin.actions.variables",
  below: "admin",
  gate: siteAdminOfAll,
  shape: {},
  of: "the instance",
});

export const variableEndpoints = {
  listRepositoryVariables: repositoryVariables.list,
  getRepositoryVariable: repositoryVariables.get,
  createRepositoryVariable: repositoryVariables.create,
  editRepositoryVariable: repositoryVariables.edit,
  deleteRepositoryVariable: repositoryVariables.delete,
  listOrganizationVariables: organizationVariables.list,
  getOrganizationVariable: organizationVariables.get,
  createOrganizationVariable: organizationVariables.create,
  editOrganizationVariable: organizationVariables.edit,
  deleteOrganizationVariable: organizationVariables.delete,
  listOwnVariables: ownVariables.list,
  getOwnVariable: ownVariables.get,
  createOwnVariable: ownVariables.create,
  editOwnVariable: ownVariables.edit,
  deleteOwnVariable: ownVariables.delete,
  listInstanceVariables: instanceVariables.list,
  getInstanceVariable: instanceVariables.get,
  createInstanceVariable: instanceVariables.create,
  editInstanceVariable: instanceVariables.edit,
  deleteInstanceVariable: instanceVariables.delete,
};
