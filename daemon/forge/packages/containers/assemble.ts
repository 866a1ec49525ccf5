import { createHash } from "node:crypto";
import type { ObjectIdentity, ObjectStore } from "../../../../storage/objects/object-store.ts";
import { openObject } from "../../../utilities/open-object.ts";
import type { DigestAlgorithm } from "./references.ts";

/** A stored object with the digest that its name promises. */
export interface AssembledBlob extends ObjectIdentity {
  /** In lower-case hex, of the requested algorithm. */
  readonly hex: string;
}

/**
 * Makes one object of the parts of an upload. One part is the object already, and is read again only for a SHA-512. Memory does not
 * depend on the size.
 */
export async function assembleBlob(
  store: ObjectStore,
  parts: readonly ObjectIdentity[],
  algorithm: DigestAlgorithm,
): Promise<AssembledBlob> {
  const [only] = parts;
  if (only === undefined || parts.length > 1) return joinParts(store, parts, algorithm);
  const { sha256, size } = only;
  if (algorithm === "sha256") return { sha256, size, hex: sha256 };
  const hash = createHash(algorithm);
  for await (const chunk of await openObject(store, only, "upload")) hash.update(chunk as Buffer);
  return { sha256, size, hex: hash.digest("hex") };
}

async function joinParts(
  store: ObjectStore,
  parts: readonly ObjectIdentity[],
  algorithm: DigestAlgorithm,
): Promise<AssembledBlob> {
  const hash = algorithm === "sha256" ? undefined : createHash(algorithm);
  const writer = await store.createPlain();
  try {
    for (const part of parts)
      for await (const chunk of await openObject(store, part, "upload")) {
        hash?.update(chunk as Buffer);
        await writer.write(chunk as Buffer);
      }
    const { sha256, size } = await writer.seal();
    await writer.publish();
    return { sha256, size, hex: hash?.digest("hex") ?? sha256 };
  } finally {
    await writer.discard();
  }
}
