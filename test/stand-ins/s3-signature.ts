import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** The access key of a caller. */
export interface S3Key {
  readonly id: string;
  readonly secret: string;
  /** Temporary keys have one. */
  readonly sessionToken?: string;
}

/** Why a request is refused: a code of the public list, with its status. */
export interface S3Refusal {
  readonly status: number;
  readonly code: string;
  /** Further elements of the body. */
  readonly more?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const SKEW_MS = 15 * 60_000;

/**
 * Checks a signature of version 4 in the `Authorization` header as the public documentation describes it, with the body's
 * hash. Undefined: the request is whom it says it is from, and as it was sent.
 */
export function checkSignature(
  request: IncomingMessage,
  body: Buffer,
  known: { readonly key: S3Key; readonly region: string; readonly nowMs: number },
): S3Refusal | undefined {
  const { key, region, nowMs } = known;
  const header = request.headers.authorization ?? "";
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  if (match === null) return { status: 403, code: "AccessDenied" };
  const [, id = "", day = "", scopeRegion = "", names = "", signature = ""] = match;
  if (id !== key.id) return { status: 403, code: "InvalidAccessKeyId" };
  if (scopeRegion !== region)
    return { status: 400, code: "AuthorizationHeaderMalformed", more: { Region: region } };
  const token = request.headers["x-amz-security-token"];
  if (token !== key.sessionToken) return { status: 400, code: "InvalidToken" };
  const time = String(request.headers["x-amz-date"] ?? "");
  const at = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time);
  const ms =
    at === null ? Number.NaN : Date.parse(`${at[1]}-${at[2]}-${at[3]}T${at[4]}:${at[5]}:${at[6]}Z`);
  if (Number.isNaN(ms) || !time.startsWith(day)) return { status: 403, code: "AccessDenied" };
  if (Math.abs(ms - nowMs) > SKEW_MS) return { status: 403, code: "RequestTimeTooSkewed" };

  const signed = names.split(";");
  const needed = Object.keys(request.headers).filter((name) => name.startsWith("x-amz-"));
  for (const name of ["host", ...needed])
    if (!signed.includes(name)) return { status: 403, code: "AccessDenied" };
  const payload = String(request.headers["x-amz-content-sha256"] ?? "");
  const canonical = [
    request.method,
    canonicalPath(request.url ?? "/"),
    canonicalQuery(request.url ?? "/"),
    ...signed.map((name) => `${name}:${valueOf(request, name)}`),
    "",
    names,
    payload,
  ].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hex(canonical)}`;
  let signing = hmac(`AWS4${key.secret}`, day);
  for (const word of [region, "s3", "aws4_request"]) signing = hmac(signing, word);
  const wanted = hmac(signing, toSign);
  if (!timingSafeEqual(wanted, Buffer.from(signature, "hex")))
    return { status: 403, code: "SignatureDoesNotMatch" };
  if (payload !== "UNSIGNED-PAYLOAD" && payload !== hex(body))
    return { status: 400, code: "XAmzContentSHA256Mismatch" };
  return undefined;
}

/** Decodes and encodes again, like a server that trusts no client's encoding. */
function canonicalPath(url: string): string {
  const path = url.split("?", 1)[0] ?? "/";
  return path
    .split("/")
    .map((segment) => encode(decodeURIComponent(segment)))
    .join("/");
}

function canonicalQuery(url: string): string {
  const at = url.indexOf("?");
  if (at < 0 || at === url.length - 1) return "";
  return url
    .slice(at + 1)
    .split("&")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [
        encode(decodeURIComponent(name)),
        encode(decodeURIComponent(value.join("="))),
      ] as const;
    })
    .sort(([a, x], [b, y]) => (a < b || (a === b && x < y) ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function valueOf(request: IncomingMessage, name: string): string {
  return [request.headers[name] ?? ""].flat().join(",").trim().replace(/ +/g, " ");
}

function encode(text: string): string {
  if (/^[A-Za-z0-9._~-]*$/.test(text)) return text;
  return [...Buffer.from(text)]
    .map((byte) =>
      /[A-Za-z0-9._~-]/.test(String.fromCharCode(byte))
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
    )
    .join("");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function hex(bytes: string | Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
