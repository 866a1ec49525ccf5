import type { CliEnvironment } from "../environment.ts";
import type { Profiles } from "../profile/profiles.ts";
import { CliError } from "../errors.ts";
import type { Credentials, Service } from "../profile/credentials.ts";
import { addressOf, findTarget, type Target, toTarget } from "./target.ts";
import type { IncomingResponse } from "./transport.ts";
import { createVaultSession } from "./vault-session.ts";

/** The credentials of a request. */
export interface Authorization {
  /** The value of the `Authorization` header. */
  readonly header: string;
  /** Returns another header after this one was refused; absent when there is only one. */
  readonly renew?: () => Promise<string>;
}

/** Dependencies of the authorizer. */
export type AuthorizerDeps = Pick<
  CliEnvironment,
  "config" | "flags" | "system" | "clock" | "signal"
> & { readonly profiles: Profiles; readonly credentials: Credentials };

/** Provides the credentials of requests. */
export function createAuthorizer(
  cli: AuthorizerDeps,
  refresh: (address: string, cookie: string) => Promise<IncomingResponse>,
) {
  let known: Promise<Target> | undefined;
  const target = () => (known ??= findTarget(cli));
  const address = async () => addressOf(await target());
  let present: Target | undefined;
  const vaultSession = createVaultSession(
    cli,
    async (cookie) => refresh(await address(), cookie),
    (url) => present === undefined || belongsTo(url, present),
    (url) => present === undefined || isSameOrigin(url, present),
  );
  return {
    target,
    /** The target's address, for sending something there. @throws CliError `daemon_unreachable` when its daemon does not run */
    address,
    vaultSession,
    /** @throws CliError `not_signed_in` */
    async authorization(service: Service): Promise<Authorization> {
      present = await target();
      const fixed = await fixedToken(cli, service);
      if (fixed !== undefined) return { header: toHeader(service, fixed) };
      if (service === "forge")
        return { header: toHeader(service, await storedForgeToken(cli, present)) };
      const token = await vaultSession.accessToken();
      return {
        header: toHeader(service, token),
        renew: async () => toHeader(service, await vaultSession.renewedToken(token)),
      };
    },
    /**
     * Returns the header of stored credentials that are still valid, without running a command or renewing a session.
     * Undefined when the session must be renewed first. @throws CliError `not_signed_in`, `daemon_unreachable` when the
     * daemon of this home does not run
     */
    async presentHeader(service: Service): Promise<string | undefined> {
      await address();
      present = await target();
      const { forgeToken, vaultToken } = await cli.config();
      const token =
        service === "forge"
          ? (forgeToken ?? (await storedForgeToken(cli, present)))
          : (vaultToken ?? (await vaultSession.presentToken()));
      return token === undefined ? undefined : toHeader(service, token);
    },
  };
}

function toHeader(service: Service, token: string): string {
  return service === "forge" ? `token ${token}` : `Bearer ${token}`;
}

/** Returns the token from the environment, or from the token command. */
async function fixedToken(cli: AuthorizerDeps, service: Service): Promise<string | undefined> {
  const { forgeToken, vaultToken, tokenCommand } = await cli.config();
  const token = service === "forge" ? forgeToken : vaultToken;
  if (token !== undefined || tokenCommand === undefined) return token;
  const { runTokenCommand } = await import("./token-command.ts");
  return runTokenCommand(tokenCommand, service, cli);
}

async function storedForgeToken(cli: AuthorizerDeps, target: Target): Promise<string> {
  const profile = await cli.profiles.inUse();
  const stored = (await cli.credentials.read(profile, "forge")) as
    | { readonly token?: unknown; readonly url?: unknown }
    | undefined;
  if (typeof stored?.token !== "string")
    throw new CliError("not_signed_in", "not signed in to the forge", {
      hint: '"croft login forge" signs in',
      service: "forge",
    });
  if (typeof stored.url === "string" && !belongsTo(stored.url, target))
    throw new CliError("not_signed_in", `the forge token belongs to ${stored.url}`, {
      hint: '"croft login forge" signs in to this daemon; profiles keep several',
      service: "forge",
    });
  return stored.token;
}

/**
 * Returns whether credentials stored for `url` may be sent to the target: only to the same origin, so that a changed
 * address cannot steal them. Ports of this machine change with each start, so all of loopback counts as one origin.
 */
function belongsTo(url: string, target: Target): boolean {
  return (toTarget(url).isLoopback && target.isLoopback) || isSameOrigin(url, target);
}

function isSameOrigin(url: string, target: Target): boolean {
  return new URL(url).origin === new URL(target.url).origin;
}

/**
 * Returns the header of Basic authentication, which the forge's token routes require; a token is accepted in place of the
 * password.
 */
export function toBasic(username: string, secret: string): string {
  return `Basic ${Buffer.from(`${username}:${secret}`, "utf8").toString("base64")}`;
}
