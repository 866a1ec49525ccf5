import { randomBytes } from "node:crypto";
import { AppError } from "../errors.ts";
import { createGuardedRequest } from "../outbound/guarded-request.ts";
import { createSignInFlows } from "../sign-in/flows.ts";
import { createOidcClient } from "../sign-in/oidc-client.ts";
import type { Provider } from "../sign-in/oidc-site.ts";
import { openGuardedDispatcher } from "./people.ts";
import type { ServiceDeps } from "./services.ts";

/** Sign-ins by the provider that one address may begin. */
const SIGN_INS = { max: 30, seconds: 900 } as const;

/** The OpenID provider of the settings; undefined without one. Each part of the daemon opens its own and closes it. */
export function openProvider(
  deps: ServiceDeps,
): (Provider & { readonly close: () => Promise<void> }) | undefined {
  const { db, input, limiter } = deps;
  const { settings, clock } = input;
  const { oidcIssuer: issuer, oidcClientId: clientId } = settings;
  if (issuer === undefined || clientId === undefined) return undefined;
  const dispatcher = openGuardedDispatcher(deps);
  return {
    name: settings.oidcName,
    client: createOidcClient({
      settings: {
        issuer,
        clientId,
        clientSecret: settings.oidcClientSecret,
        scopes: settings.oidcScopes,
        groupsClaim: settings.oidcGroupsClaim,
      },
      request: createGuardedRequest(dispatcher),
      clock,
    }),
    flows: createSignInFlows({ db, clock, random: randomBytes }),
    async count({ address }) {
      const key = `sign-in.provider:${limiter.addressKey(address)}`;
      const { allowed, resetSeconds } = await limiter.consume(key, SIGN_INS);
      if (allowed) return;
      throw new AppError(
        "rate_limited",
        `Too many sign-ins. Try again in ${resetSeconds} seconds.`,
        {
          retryAfterSeconds: resetSeconds,
        },
      );
    },
    close: () => dispatcher.destroy(),
  };
}
