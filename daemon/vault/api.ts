import type { z } from "zod";
import type { Endpoint, Gate } from "../contract/endpoint.ts";
import { MISSING } from "../contract/issue-text.ts";
import { AppError, assertNever, type FieldFailure } from "../errors.ts";
import type { AnswerHeaders, Api, ReadBody, RenderedError, ServerRequest } from "../http/handle.ts";
import { refusalHeaders, statusOfCode } from "../http/replies.ts";
import type { Authentication } from "./accounts/authentication.ts";
import { toClient } from "./accounts/client.ts";
import { badAccessToken } from "./accounts/refusals.ts";
import type { VaultCaller } from "./caller.ts";

/**
 * Creates the vault API as the transport sees it: bearer tokens, `{detail}` for every refusal, 422 for values that fail
 * validation.
 */
export function createVaultApi(authentication: Authentication): Api<VaultCaller> {
  return {
    headers: { "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" },
    jsonContentType: "application/json",

    authenticate(request, gate) {
      const token = needsCaller(gate) ? bearerOf(request) : undefined;
      return token === undefined ? undefined : authentication.identify(token, toClient(request));
    },

    authenticatesAfterBody: true,

    // The access token may expire meanwhile: an upload may take longer than its life.
    async isStillSignedIn(caller, request) {
      const token = bearerOf(request);
      return token === undefined || authentication.isStillSignedIn(caller, token);
    },

    authorize(caller, declared) {
      assertAllowed(caller, declared.gate);
      if (caller !== undefined) assertWithinToken(caller, declared);
      return undefined;
    },

    accountKey: (caller) => caller?.userId,
    decodeBody: (_declared: Endpoint, request, readBody) => decodeJson(request, readBody),
    toValidationError,

    renderError,
    renderEarlyRefusal: refusal,
    notFound: () => refusal(404, "Not Found"),
    methodNotAllowed: (allowed) =>
      refusal(405, "Method Not Allowed", { Allow: allowed.join(", ") }),
    internalError: () => refusal(500, "Internal server error"),
  };
}

function renderError(error: AppError): RenderedError {
  const challenge = error.code === "unauthenticated" ? { "WWW-Authenticate": "Bearer" } : undefined;
  // Every failed download answers 503; the reason distinguishes a missing file from an unreachable provider.
  const reason = error.data.reason === "item_not_found" ? "not_found" : undefined;
  return {
    status: statusOfCode[error.code],
    headers: {
      ...refusalHeaders(error),
      ...challenge,
      ...(reason === undefined ? {} : { "X-Croft-Reason": reason }),
    },
    body: {
      detail: error.data.failures ?? error.message,
      ...(reason === undefined ? {} : { reason }),
    },
  };
}

function needsCaller(gate: Gate): boolean {
  return gate.admits !== "anyone" && gate.admits !== "vault_upload_address";
}

/** Returns the token of the `Authorization` header; undefined without the header. Throws for another scheme. */
function bearerOf({ headers: { authorization } }: ServerRequest): string | undefined {
  if (authorization === undefined) return undefined;
  const isBearer = authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME;
  const token = authorization.slice(SCHEME.length).trim();
  if (!isBearer || token === "" || token.includes(" ")) throw badAccessToken();
  return token;
}

const SCHEME = "bearer ";

function assertAllowed(caller: VaultCaller | undefined, gate: Gate): void {
  switch (gate.admits) {
    case "anyone":
    case "vault_upload_address":
      return;
    case "vault_account":
      if (caller === undefined) throw badAccessToken();
      return;
    case "vault_user":
      if (caller === undefined) throw badAccessToken();
      if (caller.role !== "user")
        throw new AppError("forbidden", "Administrators cannot use this route");
      return;
    case "vault_administrator":
      if (caller === undefined) throw badAccessToken();
      if (caller.role !== "admin") throw new AppError("forbidden", "Administrator access required");
      return;
    case "forge_user":
    case "forge_site_admin":
    case "forge_basic":
    case "forge_job":
    case "forge_artifact_address":
      throw new Error(`gate ${gate.admits} on a vault route`);
    default:
      assertNever(gate);
  }
}

/** Throws `forbidden` when the caller's machine token does not reach the endpoint. */
function assertWithinToken(
  { tokenScope }: VaultCaller,
  { gate, method, onlyReads }: Endpoint,
): void {
  if (tokenScope === undefined) return;
  if ("refusesMachineTokens" in gate && gate.refusesMachineTokens === true)
    throw new AppError("forbidden", "Machine tokens cannot use this route; sign in instead");
  if (tokenScope === "read" && method !== "GET" && onlyReads !== true)
    throw new AppError("forbidden", "This machine token has the scope read");
}

async function decodeJson(request: ServerRequest, readBody: ReadBody): Promise<unknown> {
  // A page of another origin can send text and forms without a preflight, but JSON only after one (CORS).
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  const bytes = await readBody();
  if (bytes.byteLength === 0) throw malformed(MISSING, "missing");
  if (type === undefined || !/^application\/(json|[\w.-]+\+json)$/.test(type))
    throw unprocessable([
      {
        loc: ["header", "content-type"],
        msg: "The body must be application/json",
        type: "content_type",
      },
    ]);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch {
    // One message for invalid UTF-8 and invalid JSON, because the parser's message may quote the body.
    throw malformed("The body is not valid JSON", "json_invalid");
  }
}

/** Lists the values that fail validation, each with the first rule that it breaks. */
function toValidationError(where: "path" | "query" | "body", error: z.ZodError): AppError {
  const failures = new Map<string, FieldFailure>();
  for (const issue of error.issues) {
    const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
    const name = JSON.stringify(path);
    if (!failures.has(name)) failures.set(name, { loc: [where, ...path], ...toReason(issue) });
  }
  return unprocessable([...failures.values()]);
}

function toReason(issue: z.core.$ZodIssue): { msg: string; type: string } {
  const { code, message } = issue;
  if (message === MISSING) return { msg: MISSING, type: "missing" };
  switch (code) {
    case "invalid_type":
      return { msg: message, type: `${issue.expected}_type` };
    case "custom":
      return { msg: message, type: "value_error" };
    default:
      return { msg: message, type: code };
  }
}

function malformed(msg: string, type: string): AppError {
  return unprocessable([{ loc: ["body"], msg, type }]);
}

function unprocessable(failures: readonly FieldFailure[]): AppError {
  return new AppError("unprocessable", "The request does not fit", { failures });
}

function refusal(status: number, detail: string, headers: AnswerHeaders = {}): RenderedError {
  return { status, headers, body: { detail } };
}
