import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** One way of signing in that a server offers (RFC 9110, 11.6.1). */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  readonly params: Readonly<Record<string, string>>;
}

/** Signs requests without sending the password (RFC 7616), once the server has said with what. */
export interface Digest {
  /** Takes what a 401 asks for. False when it asks for nothing that is known here. */
  learn(challenges: readonly Challenge[]): boolean;
  /** The `Authorization` of one request; undefined before the server has asked. */
  sign(method: string, path: string): string | undefined;
}

const PARTS = /([a-z][\w-]*)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]+)|([a-z][\w-]*)(?=[\s,]|$)/gi;

/** The challenges of a `WWW-Authenticate`, of several that were joined, too. */
export function toChallenges(header: string | undefined): readonly Challenge[] {
  const challenges: { scheme: string; params: Record<string, string> }[] = [];
  for (const [, name, value, scheme] of (header ?? "").matchAll(PARTS)) {
    if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), params: {} });
    const last = challenges.at(-1);
    if (last === undefined || name === undefined || value === undefined) continue;
    last.params[name.toLowerCase()] = value.startsWith('"')
      ? value.slice(1, -1).replace(/\\(.)/g, "$1")
      : value;
  }
  return challenges;
}

/** The hash that a challenge wants; undefined when it is no digest that is known here. */
export function findDigest(challenges: readonly Challenge[]) {
  const known = challenges.flatMap(({ scheme, params }) => {
    const algorithm = (params["algorithm"] ?? "MD5").toUpperCase();
    const qops = params["qop"]?.split(",").map((qop) => qop.trim().toLowerCase());
    const hash = hashes.get(algorithm);
    const isKnown =
      scheme === "digest" && hash !== undefined && (qops === undefined || qops.includes("auth"));
    return isKnown && params["nonce"] !== undefined && params["realm"] !== undefined
      ? [{ params, algorithm, hash, hasQop: qops !== undefined }]
      : [];
  });
  return known.find(({ hash }) => hash === "sha256") ?? known[0];
}

/** @param newNonce a random text for each request */
export function createDigest(username: string, password: string, newNonce: () => string): Digest {
  let asked: ReturnType<typeof findDigest>;
  let count = 0;
  return {
    learn(challenges) {
      const found = findDigest(challenges);
      if (found === undefined) return false;
      asked = found;
      count = 0;
      return true;
    },

    sign(method, path) {
      if (asked === undefined) return undefined;
      const { params, algorithm, hash, hasQop } = asked;
      const { nonce = "", realm = "", opaque } = params;
      const digest = (text: string) => createHash(hash).update(text).digest("hex");
      const nc = (++count).toString(16).padStart(8, "0");
      const cnonce = newNonce();
      const secret = digest(`${username}:${realm}:${password}`);
      const what = digest(`${method}:${path}`);
      const response = digest(
        hasQop ? `${secret}:${nonce}:${nc}:${cnonce}:auth:${what}` : `${secret}:${nonce}:${what}`,
      );
      const parts = [
        `username=${quote(username)}`,
        `realm=${quote(realm)}`,
        `nonce=${quote(nonce)}`,
        `uri=${quote(path)}`,
        `response="${response}"`,
        `algorithm=${algorithm}`,
        ...(opaque === undefined ? [] : [`opaque=${quote(opaque)}`]),
        ...(hasQop ? ["qop=auth", `nc=${nc}`, `cnonce="${cnonce}"`] : []),
      ];
      return `Digest ${parts.join(", ")}`;
    },
  };
}

const hashes: ReadonlyMap<string, "md5" | "sha256"> = new Map([
  ["MD5", "md5"],
  ["SHA-256", "sha256"],
]);

/** A header holds Latin-1: the bytes of UTF-8 are sent one by one. */
function quote(text: string): string {
  const bytes = Buffer.from(text.replace(/["\\]/g, "\\$&")).toString("latin1");
  return `"${bytes}"`;
}
