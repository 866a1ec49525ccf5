import type { AnyEndpoint, GateOf } from "../../../contract/endpoint.ts";
import { AppError } from "../../../errors.ts";
import type { Api, RenderedError, Route, RouteAnswer, RouteInput } from "../../../http/handle.ts";
import { refusalHeaders, statusOfCode } from "../../../http/replies.ts";
import type { ArtifactAddresses, ArtifactGrant } from "./artifact-addresses.ts";
import type { RunningTask, RunningTasks } from "./running-tasks.ts";

/** The caller of the artifact service: a job with its runtime token, or the holder of a signed address. */
export type ArtifactCaller =
  | { readonly kind: "job"; readonly task: RunningTask }
  | { readonly kind: "address"; readonly grant: ArtifactGrant };

type CallerOf<E extends AnyEndpoint> =
  GateOf<E> extends { admits: "forge_job" } ? RunningTask : ArtifactGrant;

/** Binds an endpoint of the artifact service to its handler; the endpoint's gate determines the type of the caller. */
export function handleArtifact<E extends AnyEndpoint>(
  declared: E,
  handler: (input: RouteInput<E, CallerOf<E>>) => Promise<RouteAnswer<E>>,
): Route {
  return {
    endpoint: declared,
    handler: (input: RouteInput<E, ArtifactCaller>) => {
      const { caller } = input;
      const own = caller.kind === "job" ? caller.task : caller.grant;
      return handler({ ...input, caller: own as CallerOf<E> });
    },
  };
}

/** Creates the API of the artifact service as the transport sees it: runtime tokens, signed addresses, errors of Twirp. */
export function createArtifactsApi({
  runningTasks,
  addresses,
}: {
  readonly runningTasks: RunningTasks;
  readonly addresses: ArtifactAddresses;
}): Api<ArtifactCaller> {
  return {
    headers: { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" },
    jsonContentType: "application/json",
    async authenticate(request, gate) {
      if (gate.admits === "forge_artifact_address") {
        // Clients that follow a redirect send their credentials along, so only the signature counts.
        const grant = await addresses.verify(request.query.get("sig") ?? "");
        if (grant === undefined)
          throw new AppError(
            "unauthenticated",
            "the signature of the address is invalid or expired",
          );
        return { kind: "address", grant };
      }
      const { authorization } = request.headers;
      if (authorization === undefined) return undefined;
      const [, token = ""] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
      const task = await runningTasks.find(token);
      if (task === undefined)
        throw new AppError("unauthenticated", "the token belongs to no running job");
      return { kind: "job", task };
    },
    authorize(caller, { gate, path }) {
      if (caller === undefined)
        throw new AppError("unauthenticated", "the runtime token of a job is required");
      if (gate.admits !== "forge_artifact_address" || caller.kind !== "address") return undefined;
      const use = path.endsWith("/UploadArtifact") ? "upload" : "download";
      if (caller.grant.use !== use)
        throw new AppError("unauthenticated", `the address is not signed for this use`);
      return undefined;
    },
    accountKey: (caller) => {
      if (caller === undefined) return undefined;
      return caller.kind === "job"
        ? `task ${caller.task.taskId}`
        : `artifact ${caller.grant.artifactId}`;
    },
    async decodeBody(_declared, _request, readBody) {
      const text = (await readBody()).toString("utf8");
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new AppError("invalid_argument", "the body is not JSON", { cause: error });
      }
    },
    toValidationError: (where, { issues: [issue] }) =>
      new AppError(
        "invalid_argument",
        `${where} ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`,
      ),
    renderError: (error) => ({
      status: statusOfCode[error.code],
      headers: refusalHeaders(error),
      body: { code: toServiceCode(statusOfCode[error.code]), msg: error.message },
    }),
    renderEarlyRefusal: toServiceError,
    notFound: () => toServiceError(404, "the method does not exist"),
    methodNotAllowed: (allowed) => ({
      ...toServiceError(405, "the method needs another verb"),
      headers: { Allow: [...allowed] },
    }),
    internalError: () => toServiceError(500, "internal error"),
  };
}

function toServiceError(status: number, msg: string): RenderedError {
  return { status, headers: {}, body: { code: toServiceCode(status), msg } };
}

/** The codes of Twirp by status. */
const CODES: Readonly<Record<number, string>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  405: "bad_route",
  409: "already_exists",
  413: "resource_exhausted",
  422: "invalid_argument",
  429: "resource_exhausted",
  503: "unavailable",
  507: "resource_exhausted",
};

const toServiceCode = (status: number): string => CODES[status] ?? "internal";
