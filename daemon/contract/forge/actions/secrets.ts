import { z } from "zod";
import { empty, endpoint, forgeUser, type Gate, siteAdminOfAll } from "../../endpoint.ts";
import { apiError, optionalText, paging, signedInReplies, wireTime } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";

const DESCRIPTION_MAX = 4096;
/** The value is required and may be empty. */
const value = z.string({ error: "Required" });

/** A secret, without its value. */
export const secretShape = z.object({
  name: z.string(),
  description: z.string(),
  created_at: wireTime,
});
export type WireSecret = z.output<typeof secretShape>;

const secretBody = z.object({ data: value, description: optionalText({ max: DESCRIPTION_MAX }) });

/**
 * The level of the secrets: a repository, an organization, a user or the instance. `shape` has the parameters of the
 * path.
 */
interface SecretPlace<P extends string, G extends Gate, S extends z.ZodRawShape> {
  readonly name: string;
  /** The path between `/api/v1/` and `/actions`. */
  readonly below: P;
  readonly gate: G;
  readonly shape: S;
  readonly of: string;
}

/** Declares the routes of the secrets of one level. */
function declareSecrets<const P extends string, const G extends Gate, S extends z.ZodRawShape>({
  name,
  below,
  gate,
  shape,
  of,
}: SecretPlace<P, G, S>) {
  const itemParams = z.object({ ...shape, secretname: z.string() });
  const path = `/api/v1/${below}/actions/secrets` as const;
  const itemPath = `${path}/:secretname` as const;
  return {
    list: endpoint({
      name: `${name}.list`,
      method: "GET",
      path,
      summary: `List the secrets of ${of}, without their values`,
      gate,
      params: z.object(shape),
      query: z.object(paging),
      paging: "link_and_total",
      replies: { 200: z.array(secretShape), ...signedInReplies, 404: apiError },
    }),
    put: endpoint({
      name: `${name}.put`,
      method: "PUT",
      path: itemPath,
      summary: `Create or replace a secret of ${of}`,
      gate,
      params: itemParams,
      body: secretBody,
      replies: {
        201: empty,
        204: empty,
        400: apiError,
        ...signedInReplies,
        404: apiError,
        422: apiError,
      },
    }),
    delete: endpoint({
      name: `${name}.delete`,
      method: "DELETE",
      path: itemPath,
      summary: `Delete a secret of ${of}`,
      gate,
      params: itemParams,
      replies: { 204: empty, 400: apiError, ...signedInReplies, 404: apiError },
    }),
  };
}

export const {
  list: listRepositorySecrets,
  put: putRepositorySecret,
  delete: deleteRepositorySecret,
} = declareSecrets({
  name: "forge.repos.actions.secrets",
  below: "repos/:owner/:repo",
  gate: forgeUser("repository"),
  shape: repositoryParams.shape,
  of: "a repository",
});

export const {
  list: listOrganizationSecrets,
  put: putOrganizationSecret,
  delete: deleteOrganizationSecret,
} = declareSecrets({
  name: "forge.orgs.actions.secrets",
  below: "orgs/:org",
  gate: forgeUser("organization"),
  shape: { org: z.string() },
  of: "an organization",
});

export const {
  list: listOwnSecrets,
  put: putOwnSecret,
  delete: deleteOwnSecret,
} = declareSecrets({
  name: "forge.user.actions.secrets",
  below: "user",
  gate: forgeUser("user"),
  shape: {},
  of: "your own repositories",
});

export const {
  list: listInstanceSecrets,
  put: putInstanceSecret,
  delete: deleteInstanceSecret,
} = declareSecrets({
  name: "forge.admin.actions.secrets",
  below: "admin",
  gate: siteAdminOfAll,
  shape: {},
  of: "the instance",
});

export const secretEndpoints = {
  listRepositorySecrets,
  putRepositorySecret,
  deleteRepositorySecret,
  listOrganizationSecrets,
  putOrganizationSecret,
  deleteOrganizationSecret,
  listOwnSecrets,
  putOwnSecret,
  deleteOwnSecret,
  listInstanceSecrets,
  putInstanceSecret,
  deleteInstanceSecret,
};
