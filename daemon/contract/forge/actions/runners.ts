import { z } from "zod";
import { empty, endpoint, forgeUser, type Gate } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalQueryFlag,
  paging,
  pathInteger,
  queryFlag,
  signedInReplies,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { runnerShape } from "./shapes.ts";

/** The level of the runners: a repository, an organization or a user. `shape` has the parameters of the path. */
interface RunnerPlace<P extends string, G extends Gate, S extends z.ZodRawShape> {
  readonly name: string;
  /** The path between `/api/v1/` and `/actions`. */
  readonly below: P;
  readonly gate: G;
  readonly shape: S;
  readonly of: string;
}

/** Declares the routes of the runners of one level. Those of the instance see all runners and are in `actions.ts`. */
function declareRunners<const P extends string, const G extends Gate, S extends z.ZodRawShape>({
  name,
  below,
  gate,
  shape,
  of,
}: RunnerPlace<P, G, S>) {
  const itemParams = z.object({ ...shape, runner_id: pathInteger });
  const path = `/api/v1/${below}/actions/runners` as const;
  const itemPath = `${path}/:runner_id` as const;
  const refused = { ...signedInReplies, 404: apiError } as const;
  return {
    list: endpoint({
      name: `${name}.list`,
      method: "GET",
      path,
      summary: `List the runners of ${of}`,
      gate,
      params: z.object(shape),
      query: z.object({ disabled: optionalQueryFlag, ...paging }),
      paging: "link_and_total",
      replies: {
        200: z.object({ runners: z.array(runnerShape), total_count: z.int() }),
        ...refused,
      },
    }),
    token: endpoint({
      name: `${name}.token`,
      method: "POST",
      path: `${path}/registration-token` as const,
      summary: `Get the registration token of ${of}, or renew it`,
      gate,
      params: z.object(shape),
      query: z.object({ renew: queryFlag }),
      replies: { 200: z.object({ token: z.string() }), ...refused },
    }),
    get: endpoint({
      name: `${name}.get`,
      method: "GET",
      path: itemPath,
      summary: `Get a runner of ${of}`,
      gate,
      params: itemParams,
      replies: { 200: runnerShape, ...refused },
    }),
    edit: endpoint({
      name: `${name}.edit`,
      method: "PATCH",
      path: itemPath,
      summary: `Disable or enable a runner of ${of}`,
      gate,
      params: itemParams,
      // The service refuses a missing value, after it has found the runner.
      body: z.object({ disabled: optionalFlag }),
      replies: { 200: runnerShape, ...refused, 422: apiError },
    }),
    delete: endpoint({
      name: `${name}.delete`,
      method: "DELETE",
      path: itemPath,
      summary: `Delete a runner of ${of}`,
      gate,
      params: itemParams,
      replies: { 204: empty, ...refused },
    }),
  };
}

export const {
  list: listRepositoryRunners,
  token: getRepositoryRegistrationToken,
  get: getRepositoryRunner,
  edit: editRepositoryRunner,
  delete: deleteRepositoryRunner,
} = declareRunners({
  name: "forge.repos.actions.runners",
  below: "repos/:owner/:repo",
  gate: forgeUser("repository"),
  shape: repositoryParams.shape,
  of: "a repository",
});

export const {
  list: listOrganizationRunners,
  token: getOrganizationRegistrationToken,
  get: getOrganizationRunner,
  edit: editOrganizationRunner,
  delete: deleteOrganizationRunner,
} = declareRunners({
  name: "forge.orgs.actions.runners",
  below: "orgs/:org",
  gate: forgeUser("organization"),
  shape: { org: z.string() },
  of: "an organization",
});

export const {
  list: listOwnRunners,
  token: getOwnRegistrationToken,
  get: getOwnRunner,
  edit: editOwnRunner,
  delete: deleteOwnRunner,
} = declareRunners({
  name: "forge.user.actions.runners",
  below: "user",
  gate: forgeUser("user"),
  shape: {},
  of: "your own repositories",
});

export const runnerEndpoints = {
  listRepositoryRunners,
  getRepositoryRegistrationToken,
  getRepositoryRunner,
  editRepositoryRunner,
  deleteRepositoryRunner,
  listOrganizationRunners,
  getOrganizationRegistrationToken,
  getOrganizationRunner,
  editOrganizationRunner,
  deleteOrganizationRunner,
  listOwnRunners,
  getOwnRegistrationToken,
  getOwnRunner,
  editOwnRunner,
  deleteOwnRunner,
};
