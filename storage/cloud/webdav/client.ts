import type { Readable } from "node:stream";
import { openPlain } from "../content-encoding.ts";
import type { Failure } from "../outcomes.ts";
import type { Offline, ProviderAnswer, Transport } from "../transport.ts";
import { decodeSegments, toPath, toUrl, type DavBase, type DavPlace } from "./address.ts";
import { toFailure } from "./failures.ts";
import { readMultistatus, type DavResponse } from "./multistatus.ts";

/** One request about a place. */
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

/** Speaks to one base with one person's credentials. */
export interface DavClient {
  readonly base: DavBase;
  /** Sends once; a redirect is an answer like any other. Rejects only with the error of a body that failed by itself. */
  send(request: DavRequest): Promise<ProviderAnswer | Offline>;
  /**
   * PROPFIND. Gives each response with its decoded segments as the server spells them, `undefined` for what cannot be
   * addressed, and the server's time. A redirect to the same place with a slash is followed.
   */
  propfind(
    request: {
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
  >;
  /** The failure of an answer whose status says it all; its body is let go. */
  refuse(answer: ProviderAnswer): Failure;
  /** The value of a `Destination` header. */
  destination(place: DavPlace): string;
}

export interface DavClientOptions {
  readonly base: DavBase;
  readonly username: string;
  readonly password: string;
  readonly transport: Transport;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** The server takes destinations without scheme and host only. */
  readonly usesPathDestination: boolean;
}

/** Creates the client of one connection. Holds nothing that needs closing. */
export function createDavClient(options: DavClientOptions): DavClient {
  const { base, transport, clock } = options;
  const token = Buffer.from(`${options.username}:${options.password}`).toString("base64");
  const authorization = `Basic ${token}`;

  function send({ method, place, headers, body, signal, headTimeoutMs }: DavRequest) {
    return transport.send({
      method,
      url: toUrl(base, place),
      headers: { "user-agent": "croft", ...headers, authorization },
      body,
      signal,
      ...(headTimeoutMs === undefined ? {} : { headTimeoutMs }),
    });
  }

  return {
    base,
    send,

    async propfind({ place, depth, props, signal }, onResponse) {
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
      const said = Date.parse(answer.headers["date"] ?? "");
      const serverNow = Number.isNaN(said) ? clock() : said;
      return readMultistatus(openPlain(answer, undefined), (response) =>
        onResponse(response, decodeSegments(response.href), serverNow),
      );
    },

    refuse(answer) {
      answer.discard();
      return toFailure(answer, clock());
    },

    destination: (place) =>
      options.usesPathDestination ? toPath(base, place) : toUrl(base, place),
  };
}

/** Whether an answer sends us to the very same place with a slash at its end. */
function addsSlash({ status, headers }: ProviderAnswer, base: DavBase, place: DavPlace): boolean {
  if (![301, 302, 307, 308].includes(status)) return false;
  const there = toUrl(base, { ...place, isFolder: true });
  try {
    return new URL(headers["location"] ?? "", toUrl(base, place)).href === new URL(there).href;
  } catch {
    return false;
  }
}

function toPropfindBody(props: readonly PropName[]): string {
  const names = props.map(({ uri, local }) => `<x:${local} xmlns:x="${uri}"/>`);
  return `<?xml version="1.0" encoding="utf-8"?>\n<propfind xmlns="DAV:"><prop>${names.join("")}</prop></propfind>`;
}
