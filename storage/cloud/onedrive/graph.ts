import type { AuthorizedSender } from "../oauth-sender.ts";
import type { JsonObject } from "../json.ts";
import { readJsonObject } from "../response-json.ts";
import type { Failure } from "../outcomes.ts";
import type { ProviderAnswer } from "../transport.ts";
import { toGraphFailure, type GraphFailure } from "./failures.ts";

/** One call of Microsoft Graph. */
export interface GraphCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path below `/v1.0`, encoded; or a full URL of the same origin. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; bytes are sent unchanged. */
  readonly body?: JsonObject | Uint8Array;
  readonly signal: AbortSignal;
}

export type GraphAnswer =
  | { readonly kind: "ok"; readonly status: number; readonly value: JsonObject }
  | GraphFailure;

/** Calls Microsoft Graph with a connection's token. */
export type Graph = ReturnType<typeof createGraph>;

/** A page of 1000 entries is about a megabyte. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const USER_AGENT = "croft";

/** `root` is the URL of Graph, or of the stand-in, with its version. */
export function createGraph(deps: {
  readonly sender: AuthorizedSender;
  readonly root: string;
  readonly clock: () => number;
}) {
  const { origin } = new URL(deps.root);

  function send({ method, path, headers, body, signal }: GraphCall) {
    const isBytes = body instanceof Uint8Array;
    const contentType = isBytes ? "application/octet-stream" : "application/json";
    return deps.sender.send({
      method,
      url: path.startsWith("/") ? deps.root + path : path,
      headers: {
        accept: "application/json",
        "user-agent": USER_AGENT,
        ...(body === undefined ? {} : { "content-type": contentType }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
      signal,
    });
  }

  async function toFailure(answer: ProviderAnswer): Promise<GraphFailure> {
    const body = await readJsonObject(answer);
    return toGraphFailure(answer, body.kind === "ok" ? body.value : undefined, deps.clock());
  }

  const graph = {
    /** Returns a JSON response, or nothing after 204. */
    async call(call: GraphCall): Promise<GraphAnswer> {
      const answer = await send(call);
      if (answer.kind !== "answered") return answer;
      const { status } = answer;
      if (status < 200 || status > 299) return toFailure(answer);
      if (status === 204) {
        answer.discard();
        return { kind: "ok", status, value: {} };
      }
      const body = await readJsonObject(answer, ANSWER_BYTES_MAX);
      return body.kind === "ok" ? { kind: "ok", status, value: body.value } : body;
    },

    /** Returns the download URL of an item: a pre-signed URL, which is called without the token. */
    async locate(
      call: GraphCall,
    ): Promise<{ readonly kind: "ok"; readonly url: string } | GraphFailure> {
      const answer = await send(call);
      if (answer.kind !== "answered") return answer;
      if (answer.status !== 302) {
        if (answer.status >= 400) return toFailure(answer);
        answer.discard();
        return { kind: "offline", sent: true, note: `no_location ${answer.status}` };
      }
      answer.discard();
      const url = graph.toSigned(answer.headers["location"]);
      return url === undefined
        ? { kind: "offline", sent: true, note: "strange_location" }
        : { kind: "ok", url };
    },

    /** Calls a pre-signed URL without the token. */
    callSigned: (call: {
      readonly method: "GET" | "PUT" | "DELETE";
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: Uint8Array;
      readonly signal: AbortSignal;
    }): Promise<ProviderAnswer | Failure> =>
      deps.sender.send({
        ...call,
        headers: { "user-agent": USER_AGENT, ...call.headers },
        withoutToken: true,
      }),

    /** Maps an error response of `callSigned`; consumes its body. */
    toFailure,

    /** Returns the URL of the next page, or undefined when it is on another origin: only Graph gets the token. */
    toNextPage(link: string): string | undefined {
      const url = URL.parse(link);
      return url !== null && url.origin === origin ? url.href : undefined;
    },

    /** Returns a download or upload URL from a response, or undefined when calling it is forbidden. */
    toSigned(address: unknown): string | undefined {
      const url = typeof address === "string" ? URL.parse(address) : null;
      if (url === null || url.username !== "") return undefined;
      // Bytes are sent unencrypted only to a stand-in without encryption.
      return url.protocol === "https:" || url.origin === origin ? url.href : undefined;
    },
  };
  return graph;
}
