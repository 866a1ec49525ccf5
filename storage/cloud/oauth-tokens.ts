import {
  ACCESS_TOKEN,
  askForGrant,
  REFRESH_TOKEN,
  RENEW_AT,
  toCredentials,
  type GrantFailure,
  type OAuthVendor,
} from "./oauth.ts";
import type { Offline, Transport } from "./transport.ts";
import type { ConnectRequest, Credentials, ProviderDeps } from "./provider.ts";

/**
 * A currently valid access token, or the failure to get one. `isTakenOver`: another process renewed it, perhaps long ago, so
 * the vendor may have ended it since.
 */
export type TokenOutcome =
  | { readonly kind: "ok"; readonly token: string; readonly isTakenOver?: boolean }
  | GrantFailure;

/** The access token of one connection, renewed before it expires. */
export type Tokens = ReturnType<typeof createTokens>;

/**
 * Manages a connection's tokens. Simultaneous calls share one renewal. New credentials are saved before they are
 * used, and credentials that another process saved meanwhile are adopted. Once the vendor has rejected the grant, no
 * further request is sent.
 */
export function createTokens(
  vendor: OAuthVendor,
  request: Pick<ConnectRequest, "credentials" | "saveCredentials" | "loadCredentials">,
  deps: Pick<ProviderDeps, "clock" | "server"> & { readonly transport: Transport },
) {
  let current = request.credentials;
  /** Renewed, but not saved yet: the vendor may have invalidated the old ones already. */
  let unsaved: Credentials | undefined;
  let renewing: Promise<TokenOutcome> | undefined;
  let over: GrantFailure | undefined;
  /** The latest token that another process has renewed. */
  let takenOver: string | undefined;

  /**
   * Takes over the credentials that another process of the same connection has saved: they are newer than ours. Returns
   * whether their token may be valid.
   */
  async function takeOver(refused: string | undefined): Promise<boolean> {
    const stored = await request.loadCredentials?.();
    if (stored === undefined) return false;
    if (stored[REFRESH_TOKEN] === undefined || stored[ACCESS_TOKEN] === tokenOf(current))
      return false;
    current = stored;
    takenOver = tokenOf(stored);
    return tokenOf(stored) !== refused && !isEnding(stored, deps.clock());
  }

  function currentToken(): TokenOutcome {
    const token = tokenOf(current);
    return { kind: "ok", token, isTakenOver: token === takenOver };
  }

  async function keep(renewed: Credentials): Promise<TokenOutcome> {
    // Stays set when saving fails: the next call retries that before anything else.
    unsaved = renewed;
    await request.saveCredentials(renewed);
    unsaved = undefined;
    current = renewed;
    return { kind: "ok", token: tokenOf(renewed) };
  }

  async function renew(refused: string | undefined): Promise<TokenOutcome> {
    if (unsaved !== undefined) return keep(unsaved);
    if (await takeOver(refused)) return currentToken();
    for (;;) {
      const used = current[REFRESH_TOKEN] ?? "";
      const outcome = await askForGrant(
        vendor,
        { grant_type: "refresh_token", refresh_token: used },
        deps,
      );
      if (outcome.kind === "ok") return keep(toCredentials(outcome.grant, used));
      if (outcome.kind !== "reauth") return notSent(outcome);
      // With rotating refresh tokens, the other process's renewal has invalidated ours.
      if (await takeOver(refused)) return currentToken();
      if (current[REFRESH_TOKEN] !== used) continue;
      over = outcome;
      return outcome;
    }
  }

  async function renewOnce(
    refused: string | undefined,
    signal: AbortSignal,
  ): Promise<TokenOutcome> {
    if (signal.aborted) return aborted;
    renewing ??= renew(refused).finally(() => {
      renewing = undefined;
    });
    return untilAborted(renewing, signal);
  }

  return {
    /** Returns a token that should be valid; renews one that is about to expire. */
    async take(signal: AbortSignal): Promise<TokenOutcome> {
      if (over !== undefined) return over;
      const isGood =
        unsaved === undefined && tokenOf(current) !== "" && !isEnding(current, deps.clock());
      return isGood ? currentToken() : renewOnce(undefined, signal);
    },

    /** Returns another token than this one, which the vendor has rejected. */
    async replace(refused: string, signal: AbortSignal): Promise<TokenOutcome> {
      if (over !== undefined) return over;
      const isReplaced = tokenOf(current) !== refused && unsaved === undefined;
      return isReplaced ? currentToken() : renewOnce(refused, signal);
    },

    /** Notes that the vendor has accepted a token, so one that was taken over has not ended. */
    accept(token: string): void {
      if (token === takenOver) takenOver = undefined;
    },

    /** Waits for a running renewal: its new credentials would be lost with the process. Never rejects. */
    async idle(): Promise<void> {
      await Promise.allSettled([renewing]);
    },
  };
}

const aborted: Offline = { kind: "offline", sent: false, note: "aborted" };

function tokenOf(credentials: Credentials): string {
  return credentials[ACCESS_TOKEN] ?? "";
}

function isEnding(credentials: Credentials, now: number): boolean {
  const renewAt = credentials[RENEW_AT];
  return renewAt !== undefined && now >= Number(renewAt);
}

/** The token endpoint may have been reached, but the call that needed a token has not been sent. */
function notSent(failure: GrantFailure): GrantFailure {
  return failure.kind === "offline" ? { ...failure, sent: false } : failure;
}

/** Stops waiting when the caller aborts; the renewal continues for the others, and for its new refresh token. */
async function untilAborted(
  renewing: Promise<TokenOutcome>,
  signal: AbortSignal,
): Promise<TokenOutcome> {
  const gaveUp = Promise.withResolvers<TokenOutcome>();
  const onAbort = () => gaveUp.resolve(aborted);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([renewing, gaveUp.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
