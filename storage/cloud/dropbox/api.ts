import type { AuthorizedSender } from "../oauth-sender.ts";
import { parseJsonObject, type JsonObject } from "../json.ts";
import { readJsonObject, readText } from "../response-json.ts";
import type { ProviderAnswer } from "../transport.ts";
import { toDropboxFailure, type DropboxFailure } from "./failures.ts";

export type ApiAnswer = { readonly kind: "ok"; readonly value: JsonObject } | DropboxFailure;

/** Calls the Dropbox API v2 with a connection's token. */
export type DropboxApi = ReturnType<typeof createDropboxApi>;

/** A page of 2000 entries is about a megabyte. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const USER_AGENT = "croft";

/** `api` and `content` are the URLs of the two services, with their version. */
export function createDropboxApi(deps: {
  readonly sender: AuthorizedSender;
  readonly api: string;
  readonly content: string;
  readonly clock: () => number;
}) {
  async function toFailure(answer: ProviderAnswer): Promise<DropboxFailure> {
    const body = await readJsonObject(answer);
    return toDropboxFailure(answer, body.kind === "ok" ? body.value : undefined, deps.clock());
  }

  async function toValue(answer: ProviderAnswer): Promise<ApiAnswer> {
    if (answer.status !== 200) return toFailure(answer);
    const body = await readText(answer, ANSWER_BYTES_MAX);
    if (body.kind !== "ok") return body;
    // Endpoints without a result return `null`.
    const value = body.text.trim() === "null" ? {} : parseJsonObject(body.text);
    return value === undefined
      ? { kind: "offline", sent: true, note: "no_json" }
      : { kind: "ok", value };
  }

  return {
    /** Calls an endpoint with a JSON argument, such as `files/get_metadata`. */
    async ask(route: string, argument: JsonObject | null, signal: AbortSignal): Promise<ApiAnswer> {
      const answer = await deps.sender.send({
        method: "POST",
        url: `${deps.api}/${route}`,
        headers: { "content-type": "application/json", "user-agent": USER_AGENT },
        body: JSON.stringify(argument),
        signal,
      });
      return answer.kind === "answered" ? toValue(answer) : answer;
    },

    /** Calls an endpoint that accepts bytes, such as `files/upload`. */
    async send(
      route: string,
      argument: JsonObject,
      bytes: Uint8Array,
      signal: AbortSignal,
    ): Promise<ApiAnswer> {
      const answer = await deps.sender.send({
        method: "POST",
        url: `${deps.content}/${route}`,
        headers: {
          "content-type": "application/octet-stream",
          "dropbox-api-arg": toHeaderJson(argument),
          "user-agent": USER_AGENT,
        },
        body: bytes,
        signal,
      });
      return answer.kind === "answered" ? toValue(answer) : answer;
    },

    /** Calls an endpoint that returns bytes: the response (200, 206 or 416) with the file's metadata from its header. */
    async open(
      route: string,
      argument: JsonObject,
      headers: Readonly<Record<string, string>>,
      signal: AbortSignal,
    ): Promise<
      | { readonly kind: "ok"; readonly answer: ProviderAnswer; readonly value: JsonObject }
      | DropboxFailure
    > {
      const answer = await deps.sender.send({
        method: "POST",
        url: `${deps.content}/${route}`,
        headers: {
          ...headers,
          "dropbox-api-arg": toHeaderJson(argument),
          "user-agent": USER_AGENT,
        },
        signal,
      });
      if (answer.kind !== "answered") return answer;
      if (answer.status === 416) return { kind: "ok", answer, value: {} };
      if (answer.status !== 200 && answer.status !== 206) return toFailure(answer);
      const value = parseJsonObject(answer.headers["dropbox-api-result"] ?? "");
      if (value !== undefined) return { kind: "ok", answer, value };
      answer.discard();
      return { kind: "offline", sent: true, note: "no_result_header" };
    },
  };
}

/** Returns JSON that is valid in a header, with all characters above 0x7E escaped. */
export function toHeaderJson(value: JsonObject): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
