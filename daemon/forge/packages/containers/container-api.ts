import type { AnyEndpoint, Endpoint, GateOf } from "../../../contract/endpoint.ts";
import type { WireContainerRefusal } from "../../../contract/forge/packages/containers.ts";
import { AppError } from "../../../errors.ts";
import type {
  Api,
  RenderedError,
  Route,
  RouteAnswer,
  RouteInput,
  ServerRequest,
} from "../../../http/handle.ts";
import { refusalHeaders, statusOfCode } from "../../../http/replies.ts";
import { type HandlerResult, toRoutes } from "../../../http/serve.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { OpenedOf } from "../../opened.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import type { UploadedPart } from "./uploads.service.ts";
import {
  type ContainerAction,
  type ContainerScopes,
  type ContainerTokens,
  findContainerToken,
  reachesImage,
} from "./container-tokens.ts";

/** The caller of a request with credentials. */
export interface ContainerCaller {
  /** Undefined for a token that an anonymous client got. */
  readonly user: ForgeCaller | undefined;
  /** What the token is for; undefined for other credentials. */
  readonly scopes: ContainerScopes | undefined;
}

/** The headers of every response; clients tell the registry by the version. */
const HEADERS = {
  "Cache-Control": "max-age=0, private, must-revalidate",
  "X-Content-Type-Options": "nosniff",
  "Docker-Distribution-Api-Version": "registry/2.0",
} as const;

/** Where the name of an image ends, which may have slashes. */
const PLACE =
  /^\/v2\/([^/]+)\/(.+)\/(manifests\/[^/]+|blobs\/uploads(?:\/[^/]+)?|blobs\/[^/]+|tags\/list|referrers\/[^/]+)$/;

/**
 * Creates the API of the container registry as the transport sees it. Accounts, tokens and sign-in limits are those of the forge;
 * clients exchange them for tokens of the registry. Errors have the form and the codes of the specification.
 */
export function createContainerApi(
  forge: Api<ForgeCaller>,
  { tokens, urls }: { readonly tokens: ContainerTokens; readonly urls: ForgeUrls },
): Api<ContainerCaller> {
  return {
    headers: HEADERS,
    jsonContentType: "application/json",
    // The router takes one segment for a name.
    normalizePath(path) {
      const [, owner, name, rest] = PLACE.exec(path.replace(/(?<=.)\/$/, "")) ?? [];
      if (owner === undefined || name === undefined || rest === undefined)
        return path.replace(/(?<=.)\/$/, "");
      return `/v2/${owner}/${name.replaceAll("/", "%2F")}/${rest}`;
    },
    async authenticate(request, gate, readBody) {
      const { authorization } = request.headers;
      const token = findContainerToken(authorization);
      if (token === undefined) {
        const user = await forge.authenticate(request, gate, readBody);
        return user && { user, scopes: undefined };
      }
      const found = await tokens.find(token, async (secret) => {
        const headers = { authorization: `token ${secret}` };
        return forge.authenticate(withHeaders(request, headers), gate, readBody);
      });
      return { user: found.caller, scopes: found.scopes };
    },
    isStillSignedIn: async (caller, request) =>
      caller.user === undefined || (await forge.isStillSignedIn?.(caller.user, request)) !== false,
    async authorize(caller, declared, request, params) {
      assertInScope(caller?.scopes, declared, params);
      try {
        return await forge.authorize(caller?.user, declared, request, params);
      } catch (error) {
        // Clients send credentials only when they are asked for them.
        if (caller?.user === undefined && error instanceof AppError && error.code === "not_found")
          throw new AppError("unauthenticated", "sign in to read this image", { cause: error });
        throw error;
      }
    },
    accountKey: (caller) => forge.accountKey(caller?.user),
    decodeBody: (declared, request, readBody) => forge.decodeBody(declared, request, readBody),
    toValidationError: (where, error, declared) =>
      new AppError("invalid_argument", forge.toValidationError(where, error, declared).message),
    renderError: (error, request) => {
      const status = statusOfCode[error.code];
      const headers = {
        ...refusalHeaders(error),
        ...(status === 401 ? { "WWW-Authenticate": toChallenges(request, urls) } : {}),
      };
      const code = error.data.registryCode ?? CODES[status] ?? "UNKNOWN";
      return { status, headers, body: toRefusal(code, error.message) };
    },
    renderEarlyRefusal: (status, message) => toRendered(status, message),
    notFound: () => toRendered(404, "an image has the name OWNER/NAME"),
    methodNotAllowed: (allowed) => ({
      ...toRendered(405, "the registry does not know this method here"),
      headers: { Allow: [...allowed] },
    }),
    internalError: () => toRendered(500, "internal error"),
  };
}

type CallerOf<E extends AnyEndpoint> =
  GateOf<E> extends { admits: "anyone" } ? ForgeCaller | undefined : ForgeCaller;

/** The input of a handler of the registry. */
export type ContainerInput<E extends AnyEndpoint> = RouteInput<E, CallerOf<E>, OpenedOf<E>> & {
  /** Whether the caller has any credentials, those of an anonymous client included. */
  readonly hasToken: boolean;
  readonly scopes: ContainerScopes | undefined;
};

/** Serves a resource of the registry. */
export function serveContainers<Endpoints extends Readonly<Record<string, AnyEndpoint>>>(
  resource: Endpoints,
  handlers: {
    readonly [K in keyof Endpoints]: (
      input: ContainerInput<Endpoints[K]>,
    ) => Promise<HandlerResult<Endpoints[K]>>;
  },
): Route[] {
  const served = Object.entries(handlers).map(([key, handler]) => [key, withCaller(handler)]);
  return toRoutes(resource, Object.fromEntries(served));
}

/** Binds an endpoint of the registry to a handler that returns the whole response. */
export function handleContainer<E extends AnyEndpoint>(
  declared: E,
  handler: (input: ContainerInput<E>) => Promise<RouteAnswer<E>>,
): Route {
  return { endpoint: declared, handler: withCaller(handler) };
}

function withCaller<Result>(handler: (input: never) => Promise<Result>) {
  return ({ caller, ...input }: RouteInput<AnyEndpoint, ContainerCaller | undefined>) =>
    handler({
      ...input,
      caller: caller?.user,
      scopes: caller?.scopes,
      hasToken: caller !== undefined,
    } as never);
}

/** Refuses a client without credentials: it learns here how to get a token. */
export function assertToken(hasToken: boolean): void {
  if (!hasToken) throw new AppError("unauthenticated", "get a token first");
}

/** Returns the bytes of a request with their place in the upload. */
export function toPart({ headers }: ServerRequest, body: UploadedPart["body"]): UploadedPart {
  const length = headers["content-length"];
  return {
    body,
    declaredBytes: length === undefined ? undefined : Number(length),
    range: headers["content-range"],
  };
}

/** Returns a request with other credentials. */
function withHeaders(request: ServerRequest, headers: ServerRequest["headers"]): ServerRequest {
  const { id, address, query, signal } = request;
  return { ...request, id, address, query, signal, headers };
}

function toAction(method: string): ContainerAction {
  if (method === "GET" || method === "HEAD") return "pull";
  return method === "DELETE" ? "delete" : "push";
}

function assertInScope(
  scopes: ContainerScopes | undefined,
  { path, method }: Endpoint,
  params: Readonly<Record<string, string>>,
): void {
  if (scopes === undefined || !path.startsWith("/v2/:owner/:name")) return;
  const owner = decodeURIComponent(params["owner"] ?? "");
  const name = decodeURIComponent(params["name"] ?? "");
  // Who pushes asks for the state of an upload, and cancels it.
  const action = path.includes("/blobs/uploads") ? "push" : toAction(method);
  if (!reachesImage(scopes, { owner, name }, action))
    throw new AppError("unauthenticated", `the token is not for ${action} of ${owner}/${name}`);
}

/** How a client signs in: by a token for what it wants to do, or with its credentials. */
function toChallenges({ target, method }: ServerRequest, urls: ForgeUrls): string[] {
  const [path = ""] = target.split("?");
  const [, owner, name, rest = ""] = PLACE.exec(path) ?? [];
  const action = rest.startsWith("blobs/uploads") ? "push" : toAction(method);
  const actions = action === "push" ? "pull,push" : action;
  const image = owner === undefined || name === undefined ? "" : decode(`${owner}/${name}`);
  const scope = image === "" ? "" : `,scope="repository:${image.replaceAll('"', "")}:${actions}"`;
  const realm = toUrl(urls, "/v2/token");
  return [`Bearer realm="${realm}",service="container_registry"${scope}`, 'Basic realm="croft"'];
}

/** Decodes a name for a header; one that has other characters than names have is left out. */
function decode(text: string): string {
  const name = decodeURIComponent(text);
  return /^[\w./-]+$/.test(name) ? name : "";
}

/** The codes of the specification by status, where a refusal has none. */
const CODES: Readonly<Record<number, string>> = {
  400: "UNSUPPORTED",
  401: "UNAUTHORIZED",
  403: "DENIED",
  404: "NAME_UNKNOWN",
  405: "UNSUPPORTED",
  413: "SIZE_INVALID",
  416: "BLOB_UPLOAD_INVALID",
  429: "TOOMANYREQUESTS",
  503: "UNAVAILABLE",
};

/** The body of a refusal. */
function toRefusal(code: string, message: string): WireContainerRefusal {
  return { errors: [{ code, message }] };
}

function toRendered(status: number, message: string): RenderedError {
  return { status, headers: {}, body: toRefusal(CODES[status] ?? "UNKNOWN", message) };
}
