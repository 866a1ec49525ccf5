import { z } from "zod";
import { empty, forgeUser, type Gate, siteAdminOfAll } from "../../endpoint.ts";
import { optionalText, wireTime } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { organization, ownAccount, type Permission, repository } from "../../permission.ts";
import { resource } from "../resource.ts";

const DESCRIPTION_MAX = 4096;
/** The value is required and may be empty. */
const value = z.string({ error: "Required" });

/** A secret, without its value. */
const secretShape = z.object({
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
interface SecretPlace<
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

/** Declares the routes of the secrets of one level. */
function declareSecrets<
  const P extends string,
  const G extends Gate,
  S extends z.ZodRawShape,
  const On extends Permission = never,
>({ name, below, shape, of, ...common }: SecretPlace<P, G, S, On>) {
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

export const repositorySecrets = declareSecrets({
  name: "forge.repos.actions.secrets",
  below: "repos/:owner/:repo",
  gate: forgeUser("repository"),
  on: repository("actions", "owner"),
  shape: repositoryParams.shape,
  of: "a repository",
  acceptsArchived: true,
});

export const organizationSecrets = declareSecrets({
  name: "forge.orgs.actions.secrets",
  below: "orgs/:org",
  gate: forgeUser("organization"),
  on: organization("owner"),
  shape: { org: z.string() },
  of: "an organization",
});

export const ownSecrets = declareSecrets({
  name: "forge.user.actions.secrets",
  below: "user",
  gate: forgeUser("user"),
  on: ownAccount,
  shape: {},
  of: "your own repositories",
});

export const instanceSecrets = declareSecrets({
  name: "forge.admin.actions.secrets",
  below: "admin",
  gate: siteAdminOfAll,
  shape: {},
  of: "the instance",
});

export const secretEndpoints = {
  listRepositorySecrets: repositorySecrets.list,
  putRepositorySecret: repositorySecrets.put,
  deleteRepositorySecret: repositorySecrets.delete,
  listOrganizationSecrets: organizationSecrets.list,
  putOrganizationSecret: organizationSecrets.put,
  deleteOrganizationSecret: organizationSecrets.delete,
  listOwnSecrets: ownSecrets.list,
  putOwnSecret: ownSecrets.put,
  deleteOwnSecret: ownSecrets.delete,
  listInstanceSecrets: instanceSecrets.list,
  putInstanceSecret: instanceSecrets.put,
  deleteInstanceSecret: instanceSecrets.delete,
};
