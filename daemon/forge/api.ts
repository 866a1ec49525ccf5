import type { z } from "zod";
import type { Database } from "../../storage/engine/database.ts";
import { collapseSlashes, isReleaseDownload } from "../contract/api-of.ts";
import { isDecodingText } from "../contract/forge/common.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { MISSING } from "../contract/issue-text.ts";
import { AppError } from "../errors.ts";
import { type Api, hasQuery, type ReadBody, type ServerRequest } from "../http/handle.ts";
import { type Authentication, isStillSignedIn } from "./accounts/authentication.ts";
import { createAuthorization } from "./http/authorization.ts";
import {
  decodeBody,
  mayNameCaller,
  readFields,
  readFormQuery,
  shapeOf,
  toFieldName,
} from "./http/body.ts";
import type { ForgeCaller } from "./caller.ts";
import { describeMissingFeature } from "./instance/missing-features.ts";
import { plainText, renderError } from "./http/render-error.ts";
import { type ForgeUrls, toUrl } from "./urls.ts";

export interface ForgeApiDeps {
  readonly db: Database;
  readonly authentication: Authentication;
  readonly urls: ForgeUrls;
  /** Finds the caller by the session cookie of a page. */
  readonly findSession?: (request: ServerRequest) => Promise<ForgeCaller | undefined>;
}

/** Creates the forge API as the transport sees it: authentication, body formats, error bodies. */
export function createForgeApi({
  db,
  authentication,
  urls,
  findSession,
}: ForgeApiDeps): Api<ForgeCaller> {
  const documentation = () => toUrl(urls, "/api/swagger");
  const authorize = createAuthorization(db);
  // A form is read once, for its credentials; the endpoint decodes the same bytes.
  const forms = new WeakMap<ServerRequest, { bytes: Buffer; fields: URLSearchParams }>();
  // The endpoint of a request tells where the names stand in its path.
  const paths = new WeakMap<ServerRequest, string>();
  return {
    headers: {
      "Cache-Control": "max-age=0, private, must-revalidate",
      "X-Content-Type-Options": "nosniff",
      "X-Frame-Options": "SAMEORIGIN",
    },
    jsonContentType: "application/json;charset=utf-8",
    // Repeated and trailing slashes are ignored.
    normalizePath: (path) => collapseSlashes(path).replace(/(?<=.)\/$/, ""),
    headersFor: (request) =>
      (hasQuery(request) && namesToken(request.query)) || namesToken(forms.get(request)?.fields)
        ? { "X-Gitea-Warning": queryTokenWarning }
        : undefined,
    // Credentials are checked on every route: wrong ones are refused even on public routes.
    async authenticate(request, gate, readBody) {
      if (queryHasNul(request))
        throw new AppError("invalid_argument", "the address contains a NUL character");
      const changesPassword = gate.admits === "forge_user" && gate.changesPassword === true;
      if (!mayNameCaller(request)) {
        const caller = await authentication.authenticate(request, { changesPassword });
        // Pages embed pictures and files of private repositories.
        return caller ?? (isAttachment(request) ? findSession?.(request) : undefined);
      }
      const bytes = await readBody();
      const fields = await readFields(request, bytes);
      forms.set(request, { bytes, fields });
      return authentication.authenticate(request, { form: fields, changesPassword });
    },
    isStillSignedIn: (caller) => isStillSignedIn(db, caller),
    authorize(caller, declared, request, params) {
      paths.set(request, declared.path);
      if (declared.isTransient !== true && pathHasNul(request))
        throw new AppError("invalid_argument", "the address contains a NUL character");
      return authorize(caller, declared, request, params);
    },
    accountKey: (caller) => caller && String(caller.actor.id),
    readQuery: (declared, request, readBody) =>
      readFormQuery(declared, request, () => bodyOf(request, readBody)),
    decodeBody: (declared, request, readBody) =>
      decodeBody(declared, request, () => bodyOf(request, readBody)),
    toValidationError,
    renderError: (error, request) =>
      renderError(error, request, documentation(), paths.get(request)),
    renderEarlyRefusal: (status, message) =>
      status === 400
        ? plainText(status, `400 Bad Request: ${message}`)
        : { status, headers: {}, body: { message } },
    notFound({ target }) {
      const message = describeMissingFeature(target);
      if (message === undefined) return plainText(404, PAGE_NOT_FOUND);
      return { status: 404, headers: {}, body: { message, url: documentation() } };
    },
    methodNotAllowed: (allowed) => ({
      status: 405,
      headers: { Allow: [...allowed] },
      body: undefined,
    }),
    // The message of a bug may contain secrets, so it is only logged, under the request's id.
    internalError: () => ({
      status: 500,
      headers: {},
      body: { message: "", url: documentation() },
    }),
  };

  async function bodyOf(request: ServerRequest, readBody: ReadBody): Promise<Buffer> {
    return forms.get(request)?.bytes ?? readBody();
  }
}

const isAttachment = ({ target }: ServerRequest): boolean =>
  target.startsWith("/attachments/") || isReleaseDownload(target);

/** Whether the path has a NUL character, which no database stores. */
function pathHasNul({ target }: ServerRequest): boolean {
  return target.split("?", 1).join().includes("%00");
}

/** Whether the query has a NUL character outside `q`; a search for NUL finds nothing. */
function queryHasNul({ target, query }: ServerRequest): boolean {
  if (!target.includes("%00")) return false;
  return [...query].some(([name, value]) => `${name}${name === "q" ? "" : value}`.includes("\0"));
}

const namesToken = (fields: URLSearchParams | undefined): boolean =>
  fields?.has("token") === true || fields?.has("access_token") === true;

const PAGE_NOT_FOUND = "404 page not found\n";

const queryTokenWarning =
  "token and access_token API authentication is deprecated and will be removed in gitea 1.23. " +
  "Please use AuthorizationHeaderToken instead. Existing queries will continue to work but without authorization.";

/**
 * Returns the first validation failure in Gitea's words; decoding failures come before rules.
 */
function toValidationError(
  where: "path" | "query" | "body",
  error: z.ZodError,
  declared: Endpoint,
): AppError {
  const issue = error.issues.find(({ message }) => isDecodingText(message)) ?? error.issues[0];
  // The reference calls a missing member "Required".
  const message = issue?.message === MISSING ? "Required" : (issue?.message ?? "invalid request");
  if (where !== "body") return new AppError("unprocessable", message);
  if (isDecodingText(message)) return new AppError("unprocessable", `[]: ${message}`);
  const field = toFieldName(shapeOf(declared), String(issue?.path[0] ?? ""));
  return new AppError("unprocessable", `[${field}]: ${message}`);
}
