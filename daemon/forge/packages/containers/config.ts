import type { Database } from "../../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import { findContainerBlob } from "../../../../storage/tables/forge/packages/container-blobs.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import type { Compute } from "../../compute.ts";
import { type ImageConfig, readImageConfig } from "./manifest.ts";

/** A longer configuration has no platform and labels for lists and pages. */
const CONFIG_BYTES_MAX = 1024 * 1024;

/** Reads platform and labels from the configuration of an image; undefined when the image does not have it. */
export async function readConfig(
  {
    db,
    store,
    compute,
  }: { readonly db: Database; readonly store: ObjectStore; readonly compute: Compute },
  digest: string | undefined,
  {
    owner,
    image,
    account,
  }: { readonly owner: ForgeUser; readonly image: string; readonly account: string },
): Promise<ImageConfig | undefined> {
  if (digest === undefined) return undefined;
  const blob = await findContainerBlob(db, { ownerId: owner.id, image, digest });
  if (blob === undefined || blob.size > CONFIG_BYTES_MAX) return undefined;
  const stream = await store.open(blob.sha256, blob.size);
  if (stream === undefined) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const computed = await compute.run(
    readImageConfig,
    Buffer.concat(chunks).toString("utf8"),
    account,
  );
  return computed.kind === "done" ? computed.value : undefined;
}
