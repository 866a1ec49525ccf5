import { z } from "zod";
import { forgeUser, type Gate } from "../../endpoint.ts";
import { optionalFlag, optionalQueryFlag, paging, pathInteger, queryFlag } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { organization, ownAccount, type Permission, repository } from "../../permission.ts";
import { resource } from "../resource.ts";
import { runnerShape } from "./shapes.ts";

/** The level of the runners: a repository, an organization or a user. `shape` has the parameters of the path. */
interface RunnerPlace<
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

/** Declares the routes of the runners of one level. Those of the instance see all runners and are in `actions.ts`. */
function declareRunners<
  const P extends string,
  const G extends Gate,
  S extends z.ZodRawShape,
  const On extends Permission = never,
>({ name, below, shape, of, ...common }: RunnerPlace<P, G, S, On>) {
  return resource(
    {
      name,
      path: `/api/v1/${below}/actions/runners`,
      params: z.object(shape),
      id: { runner_id: pathInteger },
      shape: runnerShape,
      ...common,
    },
    ({ get, edit, remove, operation }) => ({
      list: operation({
        as: "list",
        method: "GET",
        summary: `List the runners of ${of}`,
        query: z.object({ disabled: optionalQueryFlag, ...paging }),
        paging: "link_and_total",
        replies: { 200: z.object({ runners: z.array(runnerShape), total_count: z.int() }) },
      }),
      token: operation({
        as: "token",
        method: "POST",
        at: "registration-token",
        summary: `Get the registration token of ${of}, or renew it`,
        query: z.object({ renew: queryFlag }),
        replies: { 200: z.object({ token: z.string() }) },
      }),
      get: get(`Get a runner of ${of}`),
      // The service refuses a missing value, after it has found the runner.
      edit: edit(`Disable or enable a runner of ${of}`, z.object({ disabled: optionalFlag })),
      delete: remove(`Delete a runner of ${of}`),
    }),
  );
}

export const repositoryRunners = declareRunners({
  name: "forge.repos.actions.runners",
  below: "repos/:owner/:repo",
  gate: forgeUser("repository"),
  on: repository("actions", "owner"),
  shape: repositoryParams.shape,
  of: "a repository",
  acceptsArchived: true,
});

export const organizationRunners = declareRunners({
  name: "forge.orgs.actions.runners",
  below: "orgs/:org",
  gate: forgeUser("organization"),
  on: organization("owner"),
  shape: { org: z.string() },
  of: "an organization",
});

export const ownRunners = declareRunners({
  name: "forge.user.actions.runners",
  below: "user",
  gate: forgeUser("user"),
  on: ownAccount,
  shape: {},
  of: "your own repositories",
});

export const runnerEndpoints = {
  listRepositoryRunners: repositoryRunners.list,
  getRepositoryRegistrationToken: repositoryRunners.token,
  getRepositoryRunner: repositoryRunners.get,
  editRepositoryRunner: repositoryRunners.edit,
  deleteRepositoryRunner: repositoryRunners.delete,
  listOrganizationRunners: organizationRunners.list,
  getOrganizationRegistrationToken: organizationRunners.token,
  getOrganizationRunner: organizationRunners.get,
  editOrganizationRunner: organizationRunners.edit,
  deleteOrganizationRunner: organizationRunners.delete,
  listOwnRunners: ownRunners.list,
  getOwnRegistrationToken: ownRunners.token,
  getOwnRunner: ownRunners.get,
  editOwnRunner: ownRunners.edit,
  deleteOwnRunner: ownRunners.delete,
};
