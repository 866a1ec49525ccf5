import {
  deleteInstanceSecret,
  deleteOrganizationSecret,
  deleteOwnSecret,
  deleteRepositorySecret,
  listInstanceSecrets,
  listOrganizationSecrets,
  listOwnSecrets,
  listRepositorySecrets,
  putInstanceSecret,
  putOrganizationSecret,
  putOwnSecret,
  putRepositorySecret,
} from "../../../contract/forge/actions/secrets.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import { toPut, toSecretList } from "./secret.view.ts";
import type { ActionLevels } from "./levels.service.ts";
import type { Secrets } from "./secrets.service.ts";

/** Returns the routes of secrets, of every level. */
export function secretRoutes({
  levels,
  secrets,
}: {
  readonly levels: ActionLevels;
  readonly secrets: Secrets;
}): Route[] {
  return [
    handle(listRepositorySecrets, async ({ caller, params, query }) =>
      toSecretList(await secrets.list(await levels.ofRepository(params, caller), query)),
    ),
    handle(putRepositorySecret, async ({ caller, params, body }) =>
      toPut(
        await secrets.put((db) => levels.ofRepository(params, caller, db), params.secretname, body),
      ),
    ),
    handle(deleteRepositorySecret, async ({ caller, params }) => {
      await secrets.delete((db) => levels.ofRepository(params, caller, db), params.secretname);
      return { status: 204 };
    }),
    handle(listOrganizationSecrets, async ({ caller, params, query }) =>
      toSecretList(await secrets.list(await levels.ofOrganization(params.org, caller), query)),
    ),
    handle(putOrganizationSecret, async ({ caller, params, body }) =>
      toPut(
        await secrets.put(
          (db) => levels.ofOrganization(params.org, caller, db),
          params.secretname,
          body,
        ),
      ),
    ),
    handle(deleteOrganizationSecret, async ({ caller, params }) => {
      await secrets.delete(
        (db) => levels.ofOrganization(params.org, caller, db),
        params.secretname,
      );
      return { status: 204 };
    }),
    handle(listOwnSecrets, async ({ caller, query }) =>
      toSecretList(await secrets.list(levels.ofUser(caller), query)),
    ),
    handle(putOwnSecret, async ({ caller, params, body }) =>
      toPut(await secrets.put(() => levels.ofUser(caller), params.secretname, body)),
    ),
    handle(deleteOwnSecret, async ({ caller, params }) => {
      await secrets.delete(() => levels.ofUser(caller), params.secretname);
      return { status: 204 };
    }),
    handle(listInstanceSecrets, async ({ query }) =>
      toSecretList(await secrets.list(levels.ofInstance, query)),
    ),
    handle(putInstanceSecret, async ({ params, body }) =>
      toPut(await secrets.put(() => levels.ofInstance, params.secretname, body)),
    ),
    handle(deleteInstanceSecret, async ({ params }) => {
      await secrets.delete(() => levels.ofInstance, params.secretname);
      return { status: 204 };
    }),
  ];
}
