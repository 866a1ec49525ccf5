import type { BodyOf } from "../../../contract/endpoint.ts";
import {
  instanceSecrets,
  organizationSecrets,
  ownSecrets,
  repositorySecrets,
} from "../../../contract/forge/actions/secrets.ts";
import type { Route } from "../../../http/handle.ts";
import { page } from "../../../http/serve.ts";
import { serve } from "../../handle.ts";
import type { GrantedPlace } from "../../organizations/places.ts";
import type { PageWindow } from "../../page-window.ts";
import { reopenLevel, toLevel } from "./levels.service.ts";
import { toSecretView } from "./secret.view.ts";
import type { Secrets } from "./secrets.service.ts";

/** A request about one secret. */
interface SecretInput {
  readonly opened?: GrantedPlace;
  readonly params: { readonly secretname: string };
}

/** Returns the routes of secrets, of every level. */
export function secretRoutes({ secrets }: { readonly secrets: Secrets }): Route[] {
  const ofLevel = {
    list: async ({ opened, query }: { opened?: GrantedPlace; query: PageWindow }) => {
      const { records, total } = await secrets.list(toLevel(opened), query);
      return page(records.map(toSecretView), total);
    },
    put: async ({ opened, params, body }: SecretInput & { readonly body: SecretBody }) => {
      const outcome = await secrets.put(reopenLevel(opened), params.secretname, body);
      return outcome === "created" ? ({ status: 201 } as const) : ({ status: 204 } as const);
    },
    delete: ({ opened, params }: SecretInput) =>
      secrets.delete(reopenLevel(opened), params.secretname),
  };
  return [
    ...serve(repositorySecrets, ofLevel),
    ...serve(organizationSecrets, ofLevel),
    ...serve(ownSecrets, ofLevel),
    ...serve(instanceSecrets, ofLevel),
  ];
}

type SecretBody = BodyOf<typeof instanceSecrets.put>;
