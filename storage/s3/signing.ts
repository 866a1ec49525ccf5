// Own code instead of a library. aws4fetch takes six times the processor time for a signature (266 µs against 43 µs) and resolves
// dot segments, so a key with them gets a wrong signature. @smithy/signature-v4 is as fast and as correct, but saves about 40 of
// these lines for 8.5 MB on disk and 140 ms at every start.
import { createHash, createHmac } from "node:crypto";

/** The credentials and the region of a signature. */
export interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Session token of temporary keys. */
  readonly sessionToken: string | undefined;
}

/** A request, as the signature covers it. */
export interface Signable {
  readonly method: string;
  /** With its port unless it is the default of the scheme. */
  readonly host: string;
  /** Begins with a slash; encoded by `encodePath`. */
  readonly path: string;
  /** Encoded and sorted by `encodeQuery`; empty without a query. */
  readonly query: string;
  /** Lower-case names. All of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hex. */
  readonly payloadHash: string;
}

/** SHA-256 of an empty body. */
export const EMPTY_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/**
 * Signs by AWS Signature Version 4 for the service `s3`, and returns the headers to send, including `authorization`.
 * Signs the hash of the body, never `UNSIGNED-PAYLOAD` or chunks: bodies are parts held in memory anyway, every compatible
 * server accepts it, and the server refuses a body that was damaged or changed in transit.
 */
export function sign(
  request: Signable,
  keys: SigningKeys,
  region: string,
  nowMs: number,
): Readonly<Record<string, string>> {
  const time = toAmzDate(nowMs);
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const headers: Record<string, string> = {
    ...request.headers,
    "x-amz-date": time,
    "x-amz-content-sha256": request.payloadHash,
    ...(keys.sessionToken === undefined ? {} : { "x-amz-security-token": keys.sessionToken }),
  };
  const canonical = toCanonicalRequest({ ...request, headers });
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical.text)}`;
  const key = deriveKey(keys.secretAccessKey, time.slice(0, 8), region);
  const signature = createHmac("sha256", key).update(toSign).digest("hex");
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope},SignedHeaders=${canonical.signedHeaders},Signature=${signature}`,
  };
}

/** Returns the canonical request that is hashed and signed, and the names of its headers. */
export function toCanonicalRequest(request: Signable): {
  readonly text: string;
  readonly signedHeaders: string;
} {
  const headers = Object.entries({ ...request.headers, host: request.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ {2,}/g, " ")] as const)
    .sort(([a], [b]) => compare(a, b));
  const signedHeaders = headers.map(([name]) => name).join(";");
  const lines = headers.map(([name, value]) => `${name}:${value}\n`).join("");
  const { method, path, query, payloadHash } = request;
  return {
    text: `${method}\n${path}\n${query}\n${lines}\n${signedHeaders}\n${payloadHash}`,
    signedHeaders,
  };
}

/** Derives the signing key of a day, a region and a secret. */
function deriveKey(secret: string, day: string, region: string): Buffer {
  return [day, region, "s3", "aws4_request"].reduce<Buffer>(
    (key, word) => createHmac("sha256", key).update(word).digest(),
    Buffer.from(`AWS4${secret}`),
  );
}

/** Returns the SHA-256 in hex. */
export function sha256(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Percent-encodes everything but letters, digits and `-._~`, in UTF-8 and capital hex digits, as the signature demands. */
function encodeComponent(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Encodes the path of a key; slashes stay, even repeated ones. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeComponent).join("/");
}

/** Encodes and sorts a query, in the order in which it is signed and sent. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => [encodeComponent(name), encodeComponent(value)] as const)
    .sort(([a, aValue], [b, bValue]) => compare(a, b) || compare(aValue, bValue))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** Formats a moment as `20260131T235959Z`. */
function toAmzDate(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, "");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
