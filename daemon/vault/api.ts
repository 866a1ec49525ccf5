import type { z } from "zod";
import type { Endpoint, Gate } from "../contract/endpoint.ts";
import { MISSING } from "../contract/vault/common.ts";
import { AppError, assertNever } from "../errors.ts";
import type { AnswerHeaders, Api, RenderedError, ServerRequest } from "../http/handle.ts";
import { statusOfCode } from "../http/replies.ts";
import type { Authentication } from "./accounts/authentication.ts";
import { toClient } from "./accounts/client.ts";
import { badAccessToken } from "./accounts/refusals.ts";
import type { VaultCaller } from "./caller.ts";

/**
 * The vault API in the transport's eyes: bearer tokens, `{detail}` for every refusal, 422 for whatever does not fit
 * (vault API, Authentication and Errors).
 */
export function createVaultApi(authentication: Authentication): Api<VaultCaller> {
  return {
    name: "vault",
    headers: { "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" },

    authenticate(request, gate) {
      const token = needsCaller(gate) ? bearerOf(request) : undefined;
      return token === undefined ? undefined : authentication.identify(token, toClient(request));
    },

    looksAgain: true,

    authorize(caller, declared) {
      assertAllowed(caller, declared.gate);
      return undefined;
    },

    accountKey: (caller) => caller?.userId,
    decodeBody: (_declared: Endpoint, request, readBody) => decodeJson(request, readBody),
    toValidationError,

    renderError: (error): RenderedError => ({
      status: statusOfCode[error.code],
      headers: {},
      body: error.body ?? { detail: error.message },
    }),
    notFound: () => refusal(404, "Not Found"),
    methodNotAllowed: (allowed) =>
      refusal(405, "Method Not Allowed", { Allow: allowed.join(", ") }),
    internalError: () => refusal(500, "Internal server error"),
  };
}

function needsCaller(gate: Gate): boolean {
  return gate.who !== "anyone";
}

/** The token of the `Authorization` header; undefined when there is none. Throws when it is of another kind. */
function bearerOf({ headers: { authorization } }: ServerRequest): string | undefined {
  if (authorization === undefined) return undefined;
  const isBearer = authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME;
  const token = authorization.slice(SCHEME.length).trim();
  if (!isBearer || token === "" || token.includes(" ")) throw badAccessToken();
  return token;
}

const SCHEME = "bearer ";

function assertAllowed(caller: VaultCaller | undefined, gate: Gate): void {
  switch (gate.who) {
    case "anyone":
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
      throw new Error(`gate ${gate.who} on a vault route`);
    default:
      assertNever(gate);
  }
}

async function decodeJson(
  request: ServerRequest,
  readBody: () => Promise<Buffer>,
): Promise<unknown> {
  // A page of another origin can send text and forms unasked, JSON only after a preflight (CORS).
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
    // Bad UTF-8 and bad JSON are one case to the client; the parser's words may quote the body.
    throw malformed("The body is not valid JSON", "json_invalid");
  }
}

interface ValidationFailure {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** What does not fit, each place once: a value that breaks two rules is told of the first. */
function toValidationError(where: "path" | "query" | "body", error: z.ZodError): AppError {
  const failures = new Map<string, ValidationFailure>();
  for (const issue of error.issues) {
    const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
    const name = JSON.stringify(path);
    if (!failures.has(name)) failures.set(name, { loc: [where, ...path], ...toReason(issue) });
  }
  return unprocessable([...failures.values()]);
}

function toReason(issue: z.core.$ZodIssue): { msg: string; type: string } {
  const { code, message } = issue;
  if (message === MISSING || (code === "invalid_type" && message.endsWith("received undefined")))
    return { msg: MISSING, type: "missing" };
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

function unprocessable(failures: readonly ValidationFailure[]): AppError {
  return new AppError("unprocessable", "The request does not fit", { body: { detail: failures } });
}

function refusal(status: number, detail: string, headers: AnswerHeaders = {}): RenderedError {
  return { status, headers, body: { detail } };
}
