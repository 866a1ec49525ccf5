import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { packages } from "../../../../../daemon/contract/permission.ts";
import { createContainerBlobs } from "../../../../../daemon/forge/packages/containers/blobs.service.ts";
import { StorageError } from "../../../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../../../storage/objects/object-store.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertContainerBlob } from "../../../../../storage/tables/forge/packages/container-blobs.ts";
import { newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

test("a blob is pulled from a full disk, which does not record that it was asked for", async () => {
  const db = await openTestDatabase({ engine: "sqlite" });
  try {
    const sha256 = "a".repeat(64);
    const digest = `sha256:${sha256}`;
    const user = await db.transaction(async (tx) => {
      const owner = await insertUser(tx, newUserRow("mira"));
      const blob = { ownerId: owner.id, image: "tools", digest, sha256, size: 5 };
      await insertContainerBlob(tx, blob);
      return owner;
    });
    const full = {
      ...db,
      get: db.get.bind(db),
      all: db.all.bind(db),
      transaction: () => Promise.reject(new StorageError("full", "no room")),
    };
    const store = {
      has: async () => true,
      open: async () => Readable.from(["bytes"]),
    } as unknown as ObjectStore;
    const clock = () => Date.now() + 24 * 3_600_000;
    const limits = { blobBytesMax: 10, ownerBytesMax: 0 };
    const blobs = createContainerBlobs({ db: full, store, clock, limits });
    const caller = { user, actor: user, method: "basic_password", scope: undefined } as const;
    const grant = { caller, permission: packages("read") };
    const at = { owner: "mira", name: "tools", digest };
    const opened = await blobs.open({ owner: user, access: "write", grant }, at, caller);
    expect(await (await opened.open()).toArray()).toEqual(["bytes"]);
  } finally {
    await db.close();
  }
});
