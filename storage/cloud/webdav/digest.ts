import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** An authentication scheme that a server offers (RFC 9110, 11.6.1). */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  readonly params: Readonly<Record<string, string>>;
}

/** Signs requests by HTTP digest authentication (RFC 7616), once the server has sent a challenge. */
export type Digest = ReturnType<typeof createDigest>;

/** The text of a header: a string, or in tests an object that counts reads. */
export type HeaderText = Pick<string, "length" | "charAt" | "slice">;

/**
 * Parses a `WWW-Authenticate` header, also when several were joined into one (RFC 9110, 11.6.1). Skips malformed
 * challenges. Reads every character a bounded number of times, since the header comes from an untrusted server.
 */
export function parseChallenges(header: HeaderText | undefined): readonly Challenge[] {
  const challenges: { scheme: string; params: Record<string, string> }[] = [];
  if (header === undefined) return challenges;
  const skip = (at: number, characters: RegExp) => {
    let end = at;
    while (end < header.length && characters.test(header.charAt(end))) end++;
    return end;
  };
  for (let at = 0; at < header.length;) {
    const end = skip(at, TOKEN);
    if (end === at) {
      at++;
      continue;
    }
    const name = header.slice(at, end).toLowerCase();
    const equals = skip(end, SPACE);
    if (header.charAt(equals) !== "=") {
      challenges.push({ scheme: name, params: {} });
      at = end;
      continue;
    }
    const start = skip(equals + 1, SPACE);
    const read = header.charAt(start) === '"' ? readQuoted : readPlain;
    const { value, next } = read(header, start);
    const params = challenges.at(-1)?.params;
    if (params !== undefined) params[name] = value;
    at = next;
  }
  return challenges;
}

const TOKEN = /[\w!#$%&'*+.^`|~-]/;
const SPACE = /\s/;
const VALUE = /[^\s,"]/;

function readPlain(header: HeaderText, start: number) {
  let next = start;
  while (next < header.length && VALUE.test(header.charAt(next))) next++;
  return { value: header.slice(start, next), next };
}

/** An unclosed quoted string ends with the header. */
function readQuoted(header: HeaderText, start: number) {
  const characters: string[] = [];
  let next = start + 1;
  for (; next < header.length && header.charAt(next) !== '"'; next++) {
    if (header.charAt(next) === "\\") next++;
    characters.push(header.charAt(next));
  }
  return { value: characters.join(""), next: next + 1 };
}

/** Returns the hash algorithm of a challenge; undefined when it is not a supported digest. */
export function findDigest(challenges: readonly Challenge[]) {
  const supported = challenges.flatMap(({ scheme, params }) => {
    const algorithm = (params["algorithm"] ?? "MD5").toUpperCase();
    const qops = params["qop"]?.split(",").map((qop) => qop.trim().toLowerCase());
    const hash = hashes.get(algorithm);
    const isKnown =
      scheme === "digest" && hash !== undefined && (qops === undefined || qops.includes("auth"));
    return isKnown && params["nonce"] !== undefined && params["realm"] !== undefined
      ? [{ params, algorithm, hash, hasQop: qops !== undefined }]
      : [];
  });
  return supported.find(({ hash }) => hash === "sha256") ?? supported[0];
}

/** @param newNonce returns a random text for each request */
export function createDigest(username: string, password: string, newNonce: () => string) {
  let challenge: ReturnType<typeof findDigest>;
  let count = 0;
  return {
    /** Stores the challenge of a 401 for later requests. Returns false when it offers no known algorithm. */
    learn(challenges: readonly Challenge[]): boolean {
      const found = findDigest(challenges);
      if (found === undefined) return false;
      challenge = found;
      count = 0;
      return true;
    },

    /** The current nonce. */
    nonce: (): string | undefined => challenge?.params["nonce"],

    /** Returns the `Authorization` header of one request; undefined before the first challenge. */
    sign(method: string, path: string): string | undefined {
      if (challenge === undefined) return undefined;
      const { params, algorithm, hash, hasQop } = challenge;
      const { nonce = "", realm = "", opaque } = params;
      const digest = (text: string) => createHash(hash).update(text).digest("hex");
      const nc = (++count).toString(16).padStart(8, "0");
      const cnonce = newNonce();
      const secret = digest(`${username}:${realm}:${password}`);
      const hashedRequest = digest(`${method}:${path}`);
      const response = digest(
        hasQop
          ? `${secret}:${nonce}:${nc}:${cnonce}:auth:${hashedRequest}`
          : `${secret}:${nonce}:${hashedRequest}`,
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

/** A header contains Latin-1: the bytes of UTF-8 are sent one by one. */
function quote(text: string): string {
  const bytes = Buffer.from(text.replace(/["\\]/g, "\\$&")).toString("latin1");
  return `"${bytes}"`;
}
