import type { IncomingHttpHeaders } from "node:http";
import type { ObjectFacts } from "../../../storage/objects/object-store.ts";
import { AppError } from "../../errors.ts";

const hexHeaders = {
  "x-checksum-sha256": "sha256",
  "x-checksum-sha512": "sha512",
  "x-checksum-sha1": "sha1",
  "x-checksum-md5": "md5",
} as const;

const digestHeaders = ["content-digest", "repr-digest"] as const;
const digestNames = { "sha-256": "sha256", "sha-512": "sha512" } as const;

/**
 * Compares the digests of an upload with its headers: `X-Checksum-Sha256` and the like in hex, `Content-Digest` and
 * `Repr-Digest` of RFC 9530. Refuses a mismatch with `invalid_argument`.
 */
export function assertChecksums(headers: IncomingHttpHeaders, facts: ObjectFacts): void {
  for (const [header, digest] of Object.entries(hexHeaders)) {
    const claimed = headers[header];
    if (typeof claimed === "string" && claimed.trim().toLowerCase() !== facts[digest])
      throw wrongDigest(header);
  }
  for (const header of digestHeaders) {
    const value = headers[header];
    if (typeof value !== "string") continue;
    for (const [, name = "", claimed] of value.matchAll(/([a-z0-9-]+)=:([A-Za-z0-9+/=]*):/g)) {
      if (!Object.hasOwn(digestNames, name)) continue;
      const digest = facts[digestNames[name as keyof typeof digestNames]];
      if (claimed !== Buffer.from(digest, "hex").toString("base64")) throw wrongDigest(header);
    }
  }
}

function wrongDigest(header: string): AppError {
  return new AppError("invalid_argument", `the bytes do not match the header ${header}`);
}
