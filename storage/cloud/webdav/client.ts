import { Readable } from "node:stream";
import { openPlain } from "../content-encoding.ts";
import type { Failure } from "../outcomes.ts";
import type { Offline, ProviderAnswer, Transport } from "../transport.ts";
import { createDigest, findDigest, parseChallenges, type Challenge } from "./digest.ts";
import { decodeSegments, toPath, toUrl, type DavBase, type DavPlace } from "./address.ts";
import { toFailure } from "./failures.ts";
import { readMultistatus, type DavResponse } from "./multistatus.ts";

/** One request for a path. */
export interface DavRequest {
  readonly method: string;
  readonly place: DavPlace;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Readable;
  readonly signal: AbortSignal;
  readonly headTimeoutMs?: number;
}

/** A property by its namespace and name. */
export interface PropName {
  readonly uri: string;
  readonly local: string;
}

/** Sends requests to one base with one user's credentials. */
export type DavClient = ReturnType<typeof createDavClient>;

/** `basic` sends the password with every request, `digest` proves knowledge of it. */
export type Signing = "basic" | "digest";

export interface DavClientOptions {
  readonly signing: Signing;
  /** Returns a random text. */
  readonly newId: () => string;
  readonly base: DavBase;
  readonly username: string;
  readonly password: string;
  readonly transport: Transport;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** The server accepts only destinations without scheme and host. */
  readonly usesPathDestination: boolean;
}

/** Methods without changes and without a relevant body: they may trigger the challenge. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "OPTIONS", "PROPFIND"]);

/** Creates the client of one connection. It holds no resource that must be closed. */
export function createDavClient(options: DavClientOptions) {
  const { base, transport, clock } = options;
  const { username, password, signing } = options;
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const digest = createDigest(username, password, options.newId);

  function sendWith(request: DavRequest, authorization: string | undefined) {
    const { method, place, headers, body, signal, headTimeoutMs } = request;
    return transport.send({
      method,
      url: toUrl(base, place),
      headers: {
        "user-agent": "croft",
        ...headers,
        ...(authorization === undefined ? {} : { authorization }),
      },
      body,
      signal,
      ...(headTimeoutMs === undefined ? {} : { headTimeoutMs }),
    });
  }

  async function send(request: DavRequest): Promise<ProviderAnswer | Offline> {
    if (signing === "basic") return sendWith(request, basic);
    const sign = () => digest.sign(request.method, toPath(base, request.place));
    const isStream = request.body instanceof Readable;
    // A stream can be sent only once, and the response to a change may get lost: the challenge must be known before.
    if (!SAFE_METHODS.has(request.method) && sign() === undefined) {
      const { place, signal } = request;
      const probe = await sendWith({ method: "OPTIONS", place, signal }, undefined);
      if (probe.kind === "answered") {
        probe.discard();
        digest.learn(parseChallenges(probe.headers["www-authenticate"]));
      }
    }
    const usedNonce = digest.nonce();
    const first = await sendWith(request, sign());
    if (first.kind !== "answered" || first.status !== 401) return first;
    const challenges = parseChallenges(first.headers["www-authenticate"]);
    if (!isNewChallenge(challenges, usedNonce) || !digest.learn(challenges)) return first;
    first.discard();
    if (!isStream) return sendWith(request, sign());
    const refused = await refusesCredentials(request.signal);
    return refused ?? { kind: "offline", sent: false, note: "nonce_expired" };
  }

  /** Sends a request without a body, to learn whether the current challenge's answer is accepted. */
  async function refusesCredentials(signal: AbortSignal): Promise<ProviderAnswer | undefined> {
    const place: DavPlace = { segments: [], isFolder: true };
    const authorization = digest.sign("PROPFIND", toPath(base, place));
    const request = { method: "PROPFIND", place, headers: { depth: "0" }, signal };
    const answer = await sendWith(request, authorization);
    if (answer.kind !== "answered") return undefined;
    if (answer.status === 401) return answer;
    answer.discard();
    return undefined;
  }

  return {
    base,
    /** Sends once; a redirect is returned like any response. Rejects only with the error of a body that failed by itself. */
    send,

    /**
     * Sends PROPFIND. Returns each response with its decoded segments in the server's spelling, `undefined` for a path that
     * cannot be addressed, and the server's time. Follows a redirect that only adds a slash.
     */
    async propfind(
      {
        place,
        depth,
        props,
        signal,
      }: {
        readonly place: DavPlace;
        readonly depth: "0" | "1";
        readonly props: readonly PropName[];
        readonly signal: AbortSignal;
      },
      onResponse: (
        response: DavResponse,
        segments: readonly string[] | undefined,
        serverNow: number,
      ) => void,
    ): Promise<
      | { readonly kind: "ok" }
      | { readonly kind: "refused"; readonly answer: Pick<ProviderAnswer, "status" | "headers"> }
      | Offline
    > {
      const look = (at: DavPlace) =>
        send({
          method: "PROPFIND",
          place: at,
          headers: { depth, "content-type": "application/xml; charset=utf-8" },
          body: toPropfindBody(props),
          signal,
        });
      let answer = await look(place);
      if (answer.kind === "answered" && !place.isFolder && addsSlash(answer, base, place)) {
        answer.discard();
        answer = await look({ ...place, isFolder: true });
      }
      if (answer.kind !== "answered") return answer;
      if (answer.status !== 207) {
        answer.discard();
        return { kind: "refused", answer };
      }
      const serverDate = Date.parse(answer.headers["date"] ?? "");
      const serverNow = Number.isNaN(serverDate) ? clock() : serverDate;
      return readMultistatus(openPlain(answer, undefined), (response) =>
        onResponse(response, decodeSegments(response.href), serverNow),
      );
    },

    /**
     * Finds the authentication scheme without sending credentials: digest if the server offers it and
     * either offers nothing else or has no encryption.
     */
    async findSigning(
      signal: AbortSignal,
    ): Promise<{ readonly kind: "ok"; readonly signing: Signing } | Offline> {
      const place = { segments: [], isFolder: true };
      const answer = await sendWith(
        { method: "PROPFIND", place, headers: { depth: "0" }, signal },
        undefined,
      );
      if (answer.kind !== "answered") return answer;
      answer.discard();
      const challenges = parseChallenges(answer.headers["www-authenticate"]);
      const takesBasic = challenges.some(({ scheme }) => scheme === "basic");
      const isReadable = base.origin.startsWith("http:");
      const isDigest =
        answer.status === 401 &&
        findDigest(challenges) !== undefined &&
        (isReadable || !takesBasic);
      return { kind: "ok", signing: isDigest ? "digest" : "basic" };
    },

    /** Returns the failure of a response by its status; discards its body. */
    refuse(answer: ProviderAnswer): Failure {
      answer.discard();
      return toFailure(answer, clock());
    },

    /** Returns the value of a `Destination` header. */
    destination: (place: DavPlace): string =>
      options.usesPathDestination ? toPath(base, place) : toUrl(base, place),
  };
}

/** Returns whether a redirect only adds a slash to the same URL. */
function addsSlash({ status, headers }: ProviderAnswer, base: DavBase, place: DavPlace): boolean {
  if (![301, 302, 307, 308].includes(status)) return false;
  const folderUrl = toUrl(base, { ...place, isFolder: true });
  try {
    return new URL(headers["location"] ?? "", toUrl(base, place)).href === new URL(folderUrl).href;
  } catch {
    return false;
  }
}

function toPropfindBody(props: readonly PropName[]): string {
  const names = props.map(({ uri, local }) => `<x:${local} xmlns:x="${uri}"/>`);
  return `<?xml version="1.0" encoding="utf-8"?>\n<propfind xmlns="DAV:"><prop>${names.join("")}</prop></propfind>`;
}

/**
 * Whether the same request may be accepted with a new challenge. Some servers forget their nonces with a restart and
 * offer a new one without `stale=true` (RFC 7616, 3.3), so a nonce other than the one that was used counts as well.
 */
function isNewChallenge(challenges: readonly Challenge[], usedNonce: string | undefined): boolean {
  if (usedNonce === undefined) return true;
  const offered = findDigest(challenges)?.params;
  return offered?.["stale"]?.toLowerCase() === "true" || offered?.["nonce"] !== usedNonce;
}
