import { Readable } from "node:stream";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import {
  deleteAvatar,
  findAvatar,
  type ForgeAvatar,
  putAvatar,
} from "../../../storage/tables/forge/accounts/avatars.ts";
import {
  findUserById,
  type ForgeUser,
  updateUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { receivePlainBody } from "../../utilities/receive-body.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import { PICTURE_BYTES_MAX, readPicture } from "./picture.ts";
import { toAvatarHash } from "./user.view.ts";
import { openObject } from "../../utilities/open-object.ts";

/** An uploaded picture with its bytes. */
export interface OpenedAvatar {
  readonly avatar: ForgeAvatar;
  /** Opens the bytes from `start` to `end`, both included. Refuses with `unavailable` when they are missing or damaged. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

export type Avatars = ReturnType<typeof createAvatars>;

/** Uploaded pictures of users, organizations and repositories. */
export function createAvatars({
  db,
  store,
}: {
  readonly db: Database;
  readonly store: ObjectStore;
}) {
  return {
    /** Sets the caller's picture. Throws `invalid_argument` for text that is not base64, else as `readPicture`. */
    setOwn: (image: string, caller: ForgeCaller): Promise<void> => set(findOwn(caller), image),

    /** Restores the picture that is drawn from the e-mail address. */
    removeOwn: (caller: ForgeCaller): Promise<void> => remove(findOwn(caller)),

    /** Sets the picture of the account that `find` returns in the transaction of the change. Throws as `setOwn` does. */
    set,

    /** Stores a picture, and calls `save` in the transaction that names it. Throws as `setOwn` does. */
    store: storePicture,

    /** Restores the drawn picture of the account that `find` returns in the transaction of the change. */
    remove,

    /** Finds an uploaded picture by the hash in its address; undefined when the picture must be drawn. */
    async find(hash: string): Promise<OpenedAvatar | undefined> {
      const avatar = hash.length === 64 ? await findAvatar(db, hash) : undefined;
      if (avatar === undefined) return undefined;
      return {
        avatar,
        open: (range) => openObject(store, avatar, "picture", range),
      };
    },
  };

  function set(find: FindAccount, image: string): Promise<void> {
    return storePicture(image, async (tx, picture) => {
      const current = await find(tx);
      await putAvatar(tx, current.id, picture);
      await updateUser(tx, current, { avatarHash: picture.sha256, updatedAt: tx.now });
    });
  }

  async function storePicture(
    image: string,
    save: (tx: Transaction, picture: ForgeAvatar) => Promise<void>,
  ): Promise<void> {
    const { bytes, contentType } = readPicture(decode(image));
    const received = await receivePlainBody(store, Readable.from([bytes]), {
      bytesMax: PICTURE_BYTES_MAX,
      declaredBytes: undefined,
    });
    try {
      await received.publish();
      const { sha256, size } = received.digests;
      await db.transaction((tx) => save(tx, { sha256, size, contentType }));
    } finally {
      await received.discard();
    }
  }

  async function remove(find: FindAccount): Promise<void> {
    await db.transaction(async (tx) => {
      const current = await find(tx);
      await deleteAvatar(tx, current.id);
      // An organization has no address.
      const drawnFrom = current.kind === "individual" ? current.email : current.lowerName;
      await updateUser(tx, current, { avatarHash: toAvatarHash(drawnFrom), updatedAt: tx.now });
    });
  }
}

type FindAccount = (tx: Transaction) => Promise<ForgeUser>;

const findOwn =
  ({ user }: ForgeCaller): FindAccount =>
  async (tx) => {
    const account = await findUserById(tx, user.id);
    if (account === undefined) throw notFound();
    return account;
  };

function decode(image: string): Buffer {
  const text = image.replace(/[\r\n]/g, "");
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text))
    throw new AppError("invalid_argument", "illegal base64 data: the image must be base64 encoded");
  return Buffer.from(text, "base64");
}
