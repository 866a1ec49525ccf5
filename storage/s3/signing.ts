import { createHash, createHmac } from "node:crypto";

/** What requests are signed with. */
export interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary keys. */
  readonly sessionToken: string | undefined;
}

/** A request as the signature sees it. */
export interface Signable {
  readonly method: string;
  /** With its port unless that is the scheme's own. */
  readonly host: string;
  /** Begins with a slash; encoded by `encodePath`. */
  readonly path: string;
  /** Encoded and sorted by `encodeQuery`; empty when there is none. */
  readonly query: string;
  /** Lower-case names. All of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hexadecimal digits. */
  readonly payloadHash: string;
}

/** SHA-256 of no bytes. */
export const EMPTY_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/**
 * Signs by AWS Signature Version 4 for the service `s3`, and returns the headers to be sent, `authorization` among them.
 * The body's own hash is signed, never `UNSIGNED-PAYLOAD` and never in chunks: bodies are parts held in memory anyway, every
 * compatible server takes it, and the server refuses a body that was damaged or changed on its way.
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

/** The text whose hash is signed, and the names of the headers in it. */
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

/** The key that a day, a region and a secret make. */
function deriveKey(secret: string, day: string, region: string): Buffer {
  return [day, region, "s3", "aws4_request"].reduce<Buffer>(
    (key, word) => createHmac("sha256", key).update(word).digest(),
    Buffer.from(`AWS4${secret}`),
  );
}

/** SHA-256 in hexadecimal digits. */
export function sha256(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Encodes everything but letters, digits and `-._~`, in UTF-8 and capital digits, as the signature demands. */
function encodeComponent(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The path of a key: its slashes stay, whatever lies between them. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeComponent).join("/");
}

/** A query in the order in which it is signed; it is sent so, too. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => [encodeComponent(name), encodeComponent(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** `20260131T235959Z`. */
function toAmzDate(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, "");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
