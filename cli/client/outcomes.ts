import type { IncomingHttpHeaders } from "node:http";
import { CliError, type CliErrorDetails, type Problem } from "../errors.ts";
import type { CliErrorCode } from "../exit-codes.ts";
import { vaultHints, findStorageMessage, type StorageMessage } from "./vault-hints.ts";
import { asObject, type JsonObject, parseJson } from "../support/json.ts";
import type { Service } from "../profile/credentials.ts";
import type { IncomingResponse } from "./transport.ts";

/** The parts of a response that decide between success and failure. */
export interface ResponseParts {
  readonly service: "forge" | "vault";
  readonly status: number;
  /** The parsed body; undefined when it is not JSON. */
  readonly body: unknown;
  readonly requestId: string | undefined;
  readonly retryAfter: string | undefined;
}

/** A typed outcome's `kind` to code. The vault sends some of them with a 2xx status, so they come before the status. */
const codeOfKind: Readonly<Record<string, CliErrorCode>> = {
  stale: "stale",
  conflict: "conflict",
  invalid_destination: "invalid_destination",
  invalid_name: "invalid",
  invalid_setting: "invalid",
  reauth_required: "reauth_required",
  unsupported_operation: "unsupported",
  unsupported_preview: "unsupported",
  offline: "provider_offline",
  failed: "provider_failed",
  recording_failed: "provider_failed",
};

/** Codes of a kind with a specific reason. */
const codeOfReason: Readonly<Record<string, CliErrorCode>> = {
  "conflict/name_collision": "name_collision",
  "failed/quota_exceeded": "quota_exceeded",
};

/** The `error_code` of a failed test of an AI provider, with what to do next. The vault sends it with status 200. */
const aiFailures: Readonly<Record<string, readonly [code: CliErrorCode, hint: string]>> = {
  refused_address: [
    "invalid",
    'the setting address_policy decides which addresses may be used: "croft config get address_policy"',
  ],
  unreachable: ["provider_offline", "check --base-url, and that the server runs"],
  timeout: ["provider_offline", "check --base-url, and that the server is not overloaded"],
  unauthorized: ["provider_failed", "give another API key with --key-stdin"],
  rate_limited: ["rate_limited", "try again later, or raise the limit at the provider"],
  model_not_found: [
    "not_found",
    'check --model, --embedding-model and --base-url; "croft vault admin ai models" lists the models of a stored provider',
  ],
  too_large: ["provider_failed", "check that --base-url is the address of this provider's API"],
  invalid_answer: [
    "provider_failed",
    "check that --base-url is the address of this provider's API",
  ],
  provider_error: ["provider_failed", "try again later; the provider's own log may say more"],
};

const codeOfStatus: Readonly<Record<number, CliErrorCode>> = {
  400: "invalid",
  401: "invalid_credentials",
  403: "forbidden",
  404: "not_found",
  405: "unsupported",
  409: "conflict",
  410: "not_found",
  412: "conflict",
  413: "too_large",
  415: "invalid",
  416: "invalid",
  421: "invalid",
  422: "invalid",
  423: "forbidden",
  429: "rate_limited",
  501: "unsupported",
  507: "storage_full",
};

/**
 * Converts a response to a failure; undefined for a success. This is the only table from responses to error codes. A
 * success status with a failed outcome is a failure; a sign-in challenge is `challenge_required`.
 */
export function toFailure(response: ResponseParts): CliError | undefined {
  const { status, body } = response;
  const fields = isObject(body) ? body : {};
  const isSuccess = status >= 200 && status < 300;
  const kind = textOf(fields["kind"]);
  const reason = textOf(fields["reason"]);
  const byKind = response.service === "vault" && kind !== undefined ? codeOfKind[kind] : undefined;
  const errorCode = textOf(fields["error_code"]);
  const aiFailure =
    response.service === "vault" && fields["ok"] === false
      ? aiFailures[errorCode ?? "provider_error"]
      : undefined;
  if (byKind !== undefined) return toError(codeOfReason[`${kind}/${reason}`] ?? byKind);
  if (isSuccess) {
    if (fields["success"] === false) return toError("provider_failed");
    if (aiFailure !== undefined) return toError(aiFailure[0]);
    if (fields["requires_totp"] === true || fields["requires_password_change"] === true)
      return toError("challenge_required");
    return undefined;
  }
  return toError(codeByStatus(response));

  function toError(code: CliErrorCode): CliError {
    const seconds = toSeconds(response.retryAfter);
    const knownHint =
      response.service === "vault" ? vaultHints[textOf(fields["detail"]) ?? ""] : undefined;
    const words = byKind === undefined ? undefined : findStorageMessage(kind, reason);
    const message = messageOf(fields, code, status, words);
    const details: CliErrorDetails = {
      httpStatus: status,
      service: response.service,
      kind,
      reason: aiFailure === undefined ? reason : errorCode,
      requestId: response.requestId,
      retryAfterSeconds: seconds,
      problems: problemsOf(fields),
      hint:
        knownHint ??
        aiFailure?.[1] ??
        hintOf(code, response.service, seconds, message) ??
        words?.hint,
    };
    return new CliError(code, message, details);
  }
}

function codeByStatus({ service, status, body }: ResponseParts): CliErrorCode {
  const detail = isObject(body) ? textOf(body["detail"]) : undefined;
  if (status === 401 && detail === "Session revoked") return "session_revoked";
  if ((status === 401 || status === 503) && service === "vault" && /reconnect/i.test(detail ?? ""))
    return "reauth_required";
  if (status === 413 && /quota/i.test(detail ?? "")) return "quota_exceeded";
  if (service === "vault" && /storage is full/i.test(detail ?? "")) return "quota_exceeded";
  if (service === "vault" && isObject(body) && body["reason"] === "not_found") return "not_found";
  const isStorage = /provider|connected storage/i.test(detail ?? "");
  if (service === "vault" && (status === 502 || (status === 503 && isStorage)))
    return "provider_failed";
  const known = codeOfStatus[status];
  if (known !== undefined) return known;
  if (status >= 500) return "server_error";
  return status >= 400 ? "invalid" : "unexpected_answer";
}

function messageOf(
  fields: Readonly<Record<string, unknown>>,
  code: CliErrorCode,
  status: number,
  words: StorageMessage | undefined,
): string {
  const { detail } = fields;
  const text = textOf(detail) ?? textOf(fields["message"]);
  if (text !== undefined && text !== "") return text;
  if (Array.isArray(detail))
    return detail
      .map(toProblem)
      .map(({ field, text: why }) => `${field}: ${why}`)
      .join("; ");
  const kind = textOf(fields["kind"]);
  const reason = textOf(fields["reason"]);
  const existing = textOf(fields["existing_name"]);
  if (code === "name_collision" && existing !== undefined)
    return `${JSON.stringify(existing)} already exists`;
  if (code === "challenge_required")
    return fields["requires_totp"] === true
      ? "a code of the second factor is needed"
      : "the password must be changed first";
  if (words !== undefined) return words.message;
  if (kind !== undefined) return reason === undefined ? kind : `${kind}: ${reason}`;
  if (fields["cloud_delete_failed"] === true)
    return "the provider did not delete its copy; --remove-only forgets the document here alone";
  return `the server answered ${status}`;
}

/** The values that the server refused: the vault lists them all, the forge writes the first as `[Field]: Rule`. */
function problemsOf({ detail, message }: Readonly<Record<string, unknown>>): readonly Problem[] {
  if (Array.isArray(detail)) return detail.map(toProblem);
  const [, field, text] = /^\[(\w*)\]: (.+)$/s.exec(textOf(message) ?? "") ?? [];
  return field === undefined || text === undefined ? [] : [{ field, text }];
}

function toProblem(problem: unknown): Problem {
  if (!isObject(problem)) return { field: "", text: String(problem) };
  const where = Array.isArray(problem["loc"]) ? problem["loc"] : [];
  const path = where[0] === "body" || where[0] === "query" ? where.slice(1) : where;
  return { field: path.join("."), text: textOf(problem["msg"]) ?? "invalid" };
}

function hintOf(
  code: CliErrorCode,
  service: "forge" | "vault",
  seconds: number | undefined,
  message: string,
): string | undefined {
  switch (code) {
    case "invalid_credentials":
    case "session_revoked":
      return `"croft login ${service}" signs in`;
    case "rate_limited":
    case "provider_offline":
    case "provider_failed":
      return seconds === undefined || /try again in/i.test(message)
        ? undefined
        : `try again in ${seconds} s`;
    case "reauth_required":
      return '"croft vault connection reconnect" renews the connection\'s credentials';
    case "challenge_required":
      return "give --totp, or sign in on a terminal";
    default:
      return undefined;
  }
}

/** Seconds of a `Retry-After` header that counts them. */
function toSeconds(retryAfter: string | undefined): number | undefined {
  return retryAfter !== undefined && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return asObject(value) !== undefined;
}

/** Returns the failure of an unexpected response or of a typed outcome; undefined for a success. */
export function failureOf(service: Service, answer: IncomingResponse): CliError | undefined {
  const requestId = answer.headers["x-request-id"];
  return toFailure({
    service,
    status: answer.status,
    body: isJson(answer.headers) ? parseJson(answer.body) : undefined,
    requestId: typeof requestId === "string" ? requestId : undefined,
    retryAfter: answer.headers["retry-after"],
  });
}

export function toText(body: Buffer): string | undefined {
  return body.byteLength === 0 ? undefined : body.toString("utf8");
}

export function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/(?:[\w.+-]*\+)?json\b/i.test(headers["content-type"] ?? "");
}

export function isTokenRefusal(body: Buffer): boolean {
  const value = parseJson(body) as
    | { readonly kind?: unknown; readonly detail?: unknown }
    | undefined;
  return (
    value?.kind === undefined && !/reconnect|current password/i.test(String(value?.detail ?? ""))
  );
}
