import { readJsonObject, type JsonObject } from "../json.ts";
import type { AuthorizedSender } from "../oauth-sender.ts";
import type { ProviderAnswer, ProviderRequest } from "../transport.ts";
import { toDriveFailure, type DriveFailure } from "./failures.ts";

/** Drive's ways of being asked: v3 for everything but guards, which only v2 has. */
export type DriveService = "v3" | "v2" | "upload";

export interface DriveCall {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly service: DriveService;
  /** Below the service's address, encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; bytes as they are. */
  readonly body?: JsonObject | Uint8Array;
  readonly signal: AbortSignal;
}

/** Calls of the Drive API with a connection's token. */
export interface DriveApi {
  /** An answer of JSON, or `{}` where none is due. */
  ask(call: DriveCall): Promise<{ readonly kind: "ok"; readonly value: JsonObject } | DriveFailure>;
  /** The answer as it comes, when it is a success (2xx or, of uploads, 308). */
  open(call: DriveCall): Promise<ProviderAnswer | DriveFailure>;
  /** The same for an upload session's address. */
  openSession(
    request: Omit<ProviderRequest, "headTimeoutMs">,
  ): Promise<ProviderAnswer | DriveFailure>;
}

/** A page of 1000 entries with long names stays far below. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

/** `root` is `https://www.googleapis.com`, or what stands in for it, without a slash at the end. */
export function createDriveApi(deps: {
  readonly sender: AuthorizedSender;
  readonly root: string;
  readonly clock: () => number;
  readonly headTimeoutMs: number | undefined;
}): DriveApi {
  const timeout = deps.headTimeoutMs === undefined ? {} : { headTimeoutMs: deps.headTimeoutMs };
  const services: Readonly<Record<DriveService, string>> = {
    v3: `${deps.root}/drive/v3`,
    v2: `${deps.root}/drive/v2`,
    upload: `${deps.root}/upload/drive/v3`,
  };

  async function send(request: ProviderRequest): Promise<ProviderAnswer | DriveFailure> {
    const answer = await deps.sender.send({ ...request, ...timeout });
    if (answer.kind !== "answered") return answer;
    const isSuccess = (answer.status >= 200 && answer.status <= 299) || answer.status === 308;
    return isSuccess ? answer : toDriveFailure(answer, deps.clock());
  }

  const api: DriveApi = {
    open({ method, service, path, query, headers, body, signal }) {
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

    async ask(call) {
      const answer = await api.open(call);
      if (answer.kind !== "answered") return answer;
      if (answer.status === 204) {
        answer.discard();
        return { kind: "ok", value: {} };
      }
      return readJsonObject(answer, ANSWER_BYTES_MAX);
    },

    openSession: send,
  };
  return api;
}

/** Without this word files of shared drives are as if they were not there. Not every method knows it. */
function ofAllDrives(path: string): Readonly<Record<string, string>> {
  const isOfFiles =
    path.startsWith("/files") && !path.includes("/revisions/") && path !== "/files/generateIds";
  return isOfFiles ? { supportsAllDrives: "true" } : {};
}
