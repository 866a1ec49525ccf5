import type { Readable } from "node:stream";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import {
  type ContainerBlob,
  deleteContainerBlob,
  findContainerBlob,
  listContainerBlobsOfOwner,
  insertContainerBlob,
  isContainerBlobNamed,
  touchContainerBlob,
} from "../../../../storage/tables/forge/packages/container-blobs.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { packages } from "../../../contract/permission.ts";
import { AppError } from "../../../errors.ts";
import { openObject } from "../../../utilities/open-object.ts";
import { writeIfPossible } from "../../../utilities/within.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { GrantedPackages } from "../../opened.ts";
import { grantPackages, reopenPackages } from "../access.ts";
import { type ContainerLimits, findOwnerRoom, ownerIsFull } from "./limits.ts";
import { assertImageName, type ImageAt, parseDigest, refuse } from "./references.ts";

/** A blob of an image. */
interface BlobAt extends ImageAt {
  readonly digest: string;
}

/** A blob with its bytes. */
export interface OpenedBlob {
  readonly blob: ContainerBlob;
  /** Opens the bytes from `start` to `end`, both included. Refuses with `unavailable` when they are missing or damaged. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

export interface ContainerBlobsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly limits: ContainerLimits;
}

/** A request to give an image a blob of another one. */
export interface MountRequest {
  readonly digest: string;
  /** The other image as `OWNER/NAME`; empty: any image of the same owner that the token reaches. */
  readonly from: string;
  /** Whether the client's token reaches an image. */
  readonly reaches: (at: ImageAt) => boolean;
}

export type ContainerBlobs = ReturnType<typeof createContainerBlobs>;

/** A client that finds a blob does not upload it: the clean-up spares it again from then on. */
const TOUCH_EVERY_MS = 3_600_000;

/** Blobs of images. An image has only blobs that were uploaded to it or mounted, so a digest alone gives no access to bytes. */
export function createContainerBlobs({ db, store, clock, limits }: ContainerBlobsDeps) {
  return {
    /** Opens a blob of an image. */
    async open(
      { owner }: GrantedPackages,
      at: BlobAt,
      caller: ForgeCaller | undefined,
    ): Promise<OpenedBlob> {
      const blob = await findContainerBlob(db, toKey(owner, at));
      // Bytes that are lost come back when a client uploads them again.
      if (blob === undefined || !(await store.has(blob.sha256, blob.size))) throw blobUnknown();
      if (caller !== undefined && blob.usedAt < clock() - TOUCH_EVERY_MS)
        await writeIfPossible(() => db.transaction((tx) => touchContainerBlob(tx, blob)));
      return { blob, open: (range) => openObject(store, blob, "blob", range) };
    },

    /** Removes a blob from an image. Refuses with `conflict` one that a manifest names. */
    async remove(granted: GrantedPackages, at: BlobAt): Promise<void> {
      const key = toKey(granted.owner, at);
      await db.transaction(async (tx) => {
        await reopenPackages(tx, granted);
        if (await isContainerBlobNamed(tx, key))
          throw refuse("conflict", "DENIED", "a manifest of the image names this blob");
        if (!(await deleteContainerBlob(tx, key))) throw blobUnknown();
      });
    },

    /**
     * Gives an image a blob of another image, which the caller must be able to read. Returns whether it did: otherwise the client
     * uploads the bytes. Refuses with `too_large` a blob of another owner for which the images of this one have no room.
     */
    async mount(
      granted: GrantedPackages,
      at: ImageAt,
      request: MountRequest,
      caller: ForgeCaller,
    ): Promise<boolean> {
      const { digest } = request;
      const key = toKey(granted.owner, { ...at, digest });
      const source = await findSource(db, granted.owner, request, caller);
      if (source === undefined || !(await store.has(source.sha256, source.size))) return false;
      return db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, granted);
        // The right to read it may have ended meanwhile.
        const current = await findSource(tx, owner, request, caller);
        if (current?.sha256 !== source.sha256) return false;
        const { sha256, size } = current;
        // One of the same owner takes no more room.
        if (current.ownerId !== owner.id && size > (await findOwnerRoom(tx, owner.id, limits)))
          throw ownerIsFull(limits);
        await insertContainerBlob(tx, { ...key, sha256, size });
        return true;
      });
    },
  };

  async function findSource(
    queries: Queries,
    target: ForgeUser,
    { digest, from, reaches }: MountRequest,
    caller: ForgeCaller,
  ): Promise<ContainerBlob | undefined> {
    if (from === "") {
      const found = await listContainerBlobsOfOwner(queries, target.id, digest);
      return found.find(({ image }) => reaches({ owner: target.name, name: image }));
    }
    const slash = from.indexOf("/");
    const at = { owner: from.slice(0, slash), name: from.slice(slash + 1) };
    if (slash < 1 || !reaches(at)) return undefined;
    try {
      const grant = { caller, permission: packages("read") };
      const { owner } = await grantPackages(queries, at.owner, grant);
      return await findContainerBlob(queries, toKey(owner, { ...at, digest }));
    } catch (error) {
      // What the caller may not read, and what is no image, is not told apart from an image without the blob.
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }
}

/** Returns the key of a blob. Refuses an invalid name of the image, and an invalid digest. */
function toKey(owner: ForgeUser, at: BlobAt) {
  assertImageName(at);
  parseDigest(at.digest);
  return { ownerId: owner.id, image: at.name, digest: at.digest };
}

const blobUnknown = () =>
  refuse("not_found", "BLOB_UNKNOWN", "the image does not have a blob with this digest");
