import { z } from "zod";
import { empty, forgeUser, type Gate, siteAdminOfAll } from "../../endpoint.ts";
import { optionalText, wireTime } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { resource } from "../resource.ts";

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
  readonly acceptsArchived?: true;
}

/** Declares the routes of the secrets of one level. */
function declareSecrets<const P extends string, const G extends Gate, S extends z.ZodRawShape>({
  name,
  below,
  shape,
  of,
  ...common
}: SecretPlace<P, G, S>) {
  return resource(
    {
      name,
      path: `/api/v1/${below}/actions/secrets`,
      params: z.object(shape),
      id: { secretname: z.string() },
      shape: secretShape,
      ...common,
    },
    ({ list, remove, operation }) => ({
      list: list(`List the secrets of ${of}, without their values`),
      put: operation({
        as: "put",
        method: "PUT",
        item: true,
        summary: `Create or replace a secret of ${of}`,
        body: secretBody,
        replies: { 201: empty, 204: empty },
        refuses: [400],
      }),
      delete: remove(`Delete a secret of ${of}`, { refuses: [400] }),
    }),
  );
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
  acceptsArchived: true,
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
