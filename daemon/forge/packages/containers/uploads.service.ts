import type { Readable } from "node:stream";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import { createLocks } from "../../../../storage/locks.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import {
  appendContainerPart,
  type ContainerUpload,
  countContainerParts,
  countContainerUploads,
  deleteContainerUpload,
  findContainerUpload,
  insertContainerBlob,
  insertContainerUpload,
  listContainerParts,
} from "../../../../storage/tables/forge/packages/container-blobs.ts";
import type { UserId } from "../../../../storage/tables/forge/ids.ts";
import { receivePlainBody, uploadTooLarge } from "../../../utilities/receive-body.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { GrantedPackages } from "../../opened.ts";
import { reopenPackages } from "../access.ts";
import { assembleBlob } from "./assemble.ts";
import type { ContainerBlobs, MountRequest } from "./blobs.service.ts";
import { type ContainerLimits, findOwnerRoom, ownerIsFull } from "./limits.ts";
import { assertImageName, type ImageAt, parseDigest, refuse } from "./references.ts";

/** An upload of an image. */
export interface UploadAt extends ImageAt {
  readonly upload: string;
}

/** Bytes of a blob. */
export interface UploadedPart {
  readonly body: Readable;
  readonly declaredBytes: number | undefined;
  /** The places of the first and last byte, as `Content-Range` gives them; undefined: at the end. */
  readonly range: string | undefined;
}

/** A request for an upload. */
export interface UploadRequest extends Omit<MountRequest, "digest"> {
  /** The digest of the body; empty when the bytes come later. */
  readonly digest: string;
  /** The digest of a blob of another image; empty for none. */
  readonly mount: string;
  readonly part: UploadedPart;
}

/** What a request for an upload has led to: a blob, or an upload. */
export type BegunUpload =
  | { readonly kind: "stored"; readonly digest: string }
  | { readonly kind: "started"; readonly upload: ContainerUpload };

/** The upload after a part; `out_of_order`: the part does not begin where the upload ends. */
export type AppendOutcome = {
  readonly kind: "appended" | "out_of_order";
  readonly upload: ContainerUpload;
};

export interface ContainerUploadsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly blobs: ContainerBlobs;
  readonly newUuid: () => string;
  readonly limits: ContainerLimits;
}

export type ContainerUploads = ReturnType<typeof createContainerUploads>;

/** Uploads of one owner that are not complete, and parts of one upload: each costs rows and files. */
const UPLOADS_MAX = 1_000;
const PARTS_MAX = 10_000;

/**
 * Uploads of blobs. Parts are objects of the store and rows, so an upload goes on after a restart, and on another daemon; a blob is
 * there once its digest was checked. Each function checks the caller's right again when it records the result.
 */
export function createContainerUploads(deps: ContainerUploadsDeps) {
  const { db, store, blobs, newUuid, limits } = deps;
  const { withLocks } = createLocks();
  return {
    /**
     * Stores a blob whose digest the request names, or mounts one of another image, or begins an upload. Refuses with
     * `invalid_argument` bytes that do not match the digest, with `rate_limited` an owner who has too many uploads.
     */
    async begin(
      granted: GrantedPackages,
      at: ImageAt,
      { digest, mount, from, reaches, part }: UploadRequest,
      caller: ForgeCaller,
    ): Promise<BegunUpload> {
      assertImageName(at);
      if (digest !== "") {
        await storeBlob(granted, at, digest, part);
        return { kind: "stored", digest };
      }
      if (
        mount !== "" &&
        (await blobs.mount(granted, at, { digest: mount, from, reaches }, caller))
      )
        return { kind: "stored", digest: mount };
      return { kind: "started", upload: await start(granted, at) };
    },

    get: (granted: GrantedPackages, at: UploadAt): Promise<ContainerUpload> =>
      getUpload(db, granted, at),

    /** Adds a part at the end. A part that does not arrive whole leaves the upload as it was. */
    append,

    /**
     * Completes an upload, with a last part that may be empty. Refuses with `invalid_argument` and ends the upload when the bytes do
     * not match the digest.
     */
    async complete(
      granted: GrantedPackages,
      at: UploadAt,
      digest: string,
      part: UploadedPart,
    ): Promise<AppendOutcome> {
      await getUpload(db, granted, at);
      const wanted = parseDigest(digest);
      const appended = await append(granted, at, part);
      if (appended.kind === "out_of_order") return appended;
      const { upload } = appended;
      // One at a time: each writes the bytes of all parts again, and the first ends the upload.
      await withLocks([upload.id], async () => {
        await getUpload(db, granted, at);
        const parts = await listContainerParts(db, upload.id);
        const { hex, ...object } = await assembleBlob(store, parts, wanted.algorithm);
        if (hex !== wanted.hex) {
          await deleteContainerUpload(db, upload);
          throw digestMismatch();
        }
        await db.transaction(async (tx) => {
          const { owner } = await reopenPackages(tx, granted);
          // Cancelled, completed or continued in the meantime.
          if (!(await deleteContainerUpload(tx, upload))) throw uploadUnknown();
          await insertContainerBlob(tx, { ownerId: owner.id, image: at.name, digest, ...object });
        });
      });
      return appended;
    },

    async cancel(granted: GrantedPackages, at: UploadAt): Promise<void> {
      await db.transaction(async (tx) => {
        const upload = await getUpload(tx, await reopenPackages(tx, granted), at);
        await deleteContainerUpload(tx, upload);
      });
    },
  };

  async function start(granted: GrantedPackages, at: ImageAt): Promise<ContainerUpload> {
    const id = newUuid();
    return db.transaction(async (tx) => {
      const { owner } = await reopenPackages(tx, granted);
      if ((await countContainerUploads(tx, owner.id)) >= UPLOADS_MAX)
        throw refuse(
          "rate_limited",
          "TOOMANYREQUESTS",
          `at most ${UPLOADS_MAX} uploads are open at a time; cancel some of them`,
        );
      return insertContainerUpload(tx, { id, ownerId: owner.id, image: at.name });
    });
  }

  async function storeBlob(
    granted: GrantedPackages,
    at: ImageAt,
    digest: string,
    { body, declaredBytes }: UploadedPart,
  ): Promise<void> {
    const { algorithm, hex } = parseDigest(digest);
    const bytesMax = await findRoom(db, granted.owner.id, 0);
    const received = await receivePlainBody(store, body, { bytesMax, declaredBytes });
    try {
      if (algorithm === "sha256" && received.digests.sha256 !== hex) throw digestMismatch();
      await received.publish();
      const { hex: found, ...object } = await assembleBlob(store, [received.digests], algorithm);
      if (found !== hex) throw digestMismatch();
      await db.transaction(async (tx) => {
        const { id: ownerId } = (await reopenPackages(tx, granted)).owner;
        if (object.size > (await findRoom(tx, ownerId, 0))) throw ownerIsFull(limits);
        await insertContainerBlob(tx, { ownerId, image: at.name, digest, ...object });
      });
    } finally {
      await received.discard();
    }
  }

  async function append(
    granted: GrantedPackages,
    at: UploadAt,
    { body, declaredBytes, range }: UploadedPart,
  ): Promise<AppendOutcome> {
    const upload = await getUpload(db, granted, at);
    if (!beginsAt(range, upload.size, declaredBytes)) return { kind: "out_of_order", upload };
    if ((await countContainerParts(db, upload.id)) >= PARTS_MAX)
      throw refuse("too_large", "SIZE_INVALID", `an upload has at most ${PARTS_MAX} parts`);
    const bytesMax = await findRoom(db, upload.ownerId, upload.size);
    const received = await receivePlainBody(store, body, { bytesMax, declaredBytes });
    try {
      const { digests: part } = received;
      if (part.size === 0) return { kind: "appended", upload };
      await received.publish();
      return await db.transaction(async (tx) => {
        const current = await getUpload(tx, await reopenPackages(tx, granted), at);
        if (current.size !== upload.size) return { kind: "out_of_order", upload: current };
        // Other blobs may have arrived while the bytes of this one did.
        if (part.size > (await findRoom(tx, current.ownerId, current.size)))
          throw ownerIsFull(limits);
        await appendContainerPart(tx, current, part);
        return { kind: "appended", upload: { ...current, size: current.size + part.size } };
      });
    } finally {
      await received.discard();
    }
  }

  async function getUpload(
    queries: Queries,
    { owner }: GrantedPackages,
    at: UploadAt,
  ): Promise<ContainerUpload> {
    assertImageName(at);
    const key = { id: at.upload, ownerId: owner.id, image: at.name };
    const upload = await findContainerUpload(queries, key);
    if (upload === undefined) throw uploadUnknown();
    return upload;
  }

  /** Returns how many more bytes an upload may have that has some already. */
  async function findRoom(queries: Queries, ownerId: UserId, size: number): Promise<number> {
    const { blobBytesMax } = limits;
    if (size > blobBytesMax) throw uploadTooLarge(blobBytesMax);
    const left = await findOwnerRoom(queries, ownerId, limits);
    if (left < 0) throw ownerIsFull(limits);
    return Math.min(blobBytesMax - size, left);
  }
}

/** Returns whether a part begins where the upload ends. Refuses a range that is not that of the body. */
export function beginsAt(
  range: string | undefined,
  size: number,
  declaredBytes: number | undefined,
): boolean {
  if (range === undefined) return true;
  const [, first, last] = /^(?:bytes )?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(range) ?? [];
  if (first === undefined || last === undefined)
    throw refuse("invalid_argument", "BLOB_UPLOAD_INVALID", "Content-Range must be FIRST-LAST");
  const length = Number(last) - Number(first) + 1;
  if (declaredBytes !== undefined && declaredBytes !== length)
    throw refuse("invalid_argument", "SIZE_INVALID", "Content-Range and Content-Length differ");
  return Number(first) === size;
}

const uploadUnknown = () =>
  refuse("not_found", "BLOB_UPLOAD_UNKNOWN", "the upload has ended, or never began");
const digestMismatch = () =>
  refuse("invalid_argument", "DIGEST_INVALID", "the bytes do not match the digest");
