import type { JsonObject } from "../json.ts";
import { readJsonObject } from "../response-json.ts";
import type { AuthorizedSender } from "../oauth-sender.ts";
import type { ProviderAnswer, ProviderRequest } from "../transport.ts";
import { toDriveFailure, type DriveFailure } from "./failures.ts";

/** A call of the Drive API: v3 for everything except preconditions, which only v2 supports. */
export type DriveService = "v3" | "v2" | "upload" | "upload_v2";

export interface DriveCall {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly service: DriveService;
  /** Path below the service's URL, encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; bytes are sent unchanged. */
  readonly body?: JsonObject | Uint8Array;
  readonly signal: AbortSignal;
}

/** Calls of the Drive API with a connection's token. */
export type DriveApi = ReturnType<typeof createDriveApi>;

/** A page of 1000 entries with long names stays far below. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

/** `root` is `https://www.googleapis.com`, or its stand-in, without a trailing slash. */
export function createDriveApi(deps: {
  readonly sender: AuthorizedSender;
  readonly root: string;
  readonly clock: () => number;
  readonly headTimeoutMs: number | undefined;
}) {
  const timeout = deps.headTimeoutMs === undefined ? {} : { headTimeoutMs: deps.headTimeoutMs };
  const services: Readonly<Record<DriveService, string>> = {
    v3: `${deps.root}/drive/v3`,
    v2: `${deps.root}/drive/v2`,
    upload: `${deps.root}/upload/drive/v3`,
    upload_v2: `${deps.root}/upload/drive/v2`,
  };

  async function send(request: ProviderRequest): Promise<ProviderAnswer | DriveFailure> {
    const answer = await deps.sender.send({ ...request, ...timeout });
    if (answer.kind !== "answered") return answer;
    const isSuccess = (answer.status >= 200 && answer.status <= 299) || answer.status === 308;
    return isSuccess ? answer : toDriveFailure(answer, deps.clock());
  }

  const api = {
    /** Returns a successful response (2xx or, for uploads, 308) unread. */
    open({
      method,
      service,
      path,
      query,
      headers,
      body,
      signal,
    }: DriveCall): Promise<ProviderAnswer | DriveFailure> {
      const parameters = new URLSearchParams({ ...ofAllDrives(path), ...query });
      const isBytes = body instanceof Uint8Array;
      return send({
        method,
        url: `${services[service]}${path}?${parameters.toString()}`,
        headers: {
          accept: "application/json",
          ...(body === undefined || isBytes ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
        signal,
      });
    },

    /** Returns a JSON response, or `{}` for an empty one. */
    async callJson(
      call: DriveCall,
    ): Promise<{ readonly kind: "ok"; readonly value: JsonObject } | DriveFailure> {
      const answer = await api.open(call);
      if (answer.kind !== "answered") return answer;
      if (answer.status === 204) {
        answer.discard();
        return { kind: "ok", value: {} };
      }
      return readJsonObject(answer, ANSWER_BYTES_MAX);
    },

    /** Calls the URL of an upload session in the same way. */
    openSession: send,
  };
  return api;
}

/** Without this parameter files of shared drives are invisible. Not every method accepts it. */
function ofAllDrives(path: string): Readonly<Record<string, string>> {
  const isOfFiles =
    path.startsWith("/files") &&
    !path.includes("/revisions/") &&
    path !== "/files/generateIds" &&
    path !== "/files/trash";
  return isOfFiles ? { supportsAllDrives: "true" } : {};
}
