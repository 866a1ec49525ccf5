import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { usageError } from "../errors.ts";
import type { RawBody } from "./raw-download.ts";

/**
 * The path of a request: `:name` is one segment, encoded whole; `**:name` keeps its slashes and encodes the texts
 * between them. Query values that are undefined or null are left out, lists repeat their name.
 * @throws CliError `usage` for a name that a path cannot carry: empty, `.` or `..`
 */
export function toAddress(
  path: string,
  params: Readonly<Record<string, unknown>> | undefined,
  query: Readonly<Record<string, unknown>> | undefined,
): string {
  const filled = path.replace(/(\*\*)?:(\w+)/g, (_, many: string | undefined, name: string) => {
    const value = params?.[name];
    if (value === undefined || value === null) throw new Error(`${path} takes ${name}`);
    const text = toText(value);
    return many === undefined ? encodeSegment(text, name) : encodeSegments(text, name);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    for (const one of Array.isArray(value) ? (value as readonly unknown[]) : [value])
      if (one !== undefined && one !== null) search.append(name, toText(one));
  const text = search.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

/** Returns a request for display, without the secrets in its body. */
export function toPreview(
  method: string,
  url: string,
  body: unknown,
): Readonly<Record<string, unknown>> {
  if (body === undefined) return { method, url, body: null };
  if (body instanceof Uint8Array) return { method, url, body: { bytes: body.byteLength } };
  return { method, url, body: hideSecrets(body) };
}

const secretNames = /password|secret|token|api_key|credential|^(?:totp_|backup_)?codes?$/i;

function hideSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideSecrets);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => [
        name,
        secretNames.test(name) && isSecret(inner) ? "(secret)" : hideSecrets(inner),
      ]),
  );
}

/** Switches such as `must_change_password` have secret names and no secret values. */
function isSecret(value: unknown): boolean {
  return value !== null && typeof value !== "boolean";
}

/** URL parsers take `.` and `..` out of a path, even encoded: the request would go to another address. */
function encodeSegment(text: string, name: string): string {
  if (!isCarried(text))
    throw usageError(`${name.replaceAll("_", " ")} cannot be ${JSON.stringify(text)}`);
  return encodeURIComponent(text);
}

/**
 * Encodes the segments of a text. If a path cannot carry one of them, such as `..`, the whole text becomes one segment.
 */
function encodeSegments(text: string, name: string): string {
  const parts = text.split("/");
  return parts.every(isCarried)
    ? parts.map(encodeURIComponent).join("/")
    : encodeSegment(text, name);
}

function isCarried(segment: string): boolean {
  return segment !== "" && segment !== "." && segment !== "..";
}

function toText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** An outgoing request. */
export interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Readable | undefined;
  readonly signal: AbortSignal;
  /** A GET whose body is large: read by `OpenResponse.raw` where the connection allows it. */
  readonly isLarge?: boolean | undefined;
}

/** A response whose body is still arriving. The stream must be consumed or destroyed, unless `raw` is used instead. */
export interface OpenResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly stream: Readable;
  readonly raw?: RawBody;
}
