import { describe, expect, test } from "vitest";
import {
  deleteDocument,
  insertDocument,
  listDocuments,
} from "../../../../../storage/tables/vault/documents/documents.ts";
import {
  deleteTrashed,
  trashDocument,
  untrashDocument,
} from "../../../../../storage/tables/vault/documents/trash.ts";
import { toAccountId, toDocumentId } from "../../../../../storage/tables/vault/ids.ts";
import {
  correctUsedBytes,
  findDocumentCount,
  insertQuota,
} from "../../../../../storage/tables/vault/quotas.ts";
import { deleteVaultUser, insertVaultUser } from "../../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const people = ["mira", "noor"].map((handle) => ({ id: toAccountId(handle), handle }));
const mira = toAccountId("mira");
const noor = toAccountId("noor");

describe.each(["sqlite", "postgres"] as const)("the number of documents, on %s", (engine) => {
  test("each change of a user's documents counts them in its own transaction", async () => {
    const db = await openTestDatabase({ engine });
    try {
      await db.transaction(async (tx) => {
        for (const { id, handle } of people) {
          const account = { role: "user", passwordHash: "", passwordMustChange: false } as const;
          await insertVaultUser(tx, { id, handle, email: `${handle}@example.org`, ...account });
          await insertQuota(tx, id, 100);
        }
      });
      const add = (userId: typeof mira, id: string) =>
        db.transaction((tx) =>
          insertDocument(tx, {
            ...{ id: toDocumentId(id), userId, filename: `${id}.txt`, contentType: "text/plain" },
            ...{ sizeBytes: 1, sha256: "0".repeat(64), storageBackend: "internal" },
            ...{ connectionId: undefined, providerItemId: undefined },
          }),
        );
      const counts = async () => [
        await findDocumentCount(db, mira),
        await findDocumentCount(db, noor),
      ];
      for (const id of ["a", "b", "c", "d"]) await add(mira, id);
      await add(noor, "e");
      expect(await counts()).toEqual([4, 1]);

      await db.transaction(async (tx) => {
        for (const id of ["a", "b"]) await trashDocument(tx, toDocumentId(id));
        expect(await findDocumentCount(tx, mira)).toBe(2);
        // In the trash already, and missing.
        for (const id of ["a", "none"]) await trashDocument(tx, toDocumentId(id));
      });
      expect(await counts()).toEqual([2, 1]);
      await db.transaction((tx) => untrashDocument(tx, toDocumentId("a")));
      await db.transaction((tx) => deleteTrashed(tx, toDocumentId("b")));
      expect(await counts()).toEqual([3, 1]);
      await db.transaction((tx) => deleteDocument(tx, toDocumentId("c")));
      expect(await counts()).toEqual([2, 1]);
      const failed = db.transaction(async (tx) => {
        await deleteDocument(tx, toDocumentId("d"));
        throw new Error("rolled back");
      });
      await expect(failed).rejects.toThrow("rolled back");
      expect(await counts()).toEqual([2, 1]);

      const order = { sort: "name", descending: false, limit: 1, offset: 0 } as const;
      expect(await listDocuments(db, { userId: mira }, order)).toMatchObject({ total: 2 });
      const pending = { userId: mira, status: "pending" } as const;
      expect(await listDocuments(db, pending, order)).toMatchObject({ total: 2 });
      const processed = { userId: mira, status: "ready" } as const;
      expect(await listDocuments(db, processed, order)).toMatchObject({ total: 0 });

      await db.transaction((tx) => deleteVaultUser(tx, mira));
      expect(await counts()).toEqual([undefined, 1]);
    } finally {
      await db.close();
    }
  });

  test("a wrong number is set right with the used bytes", async () => {
    const db = await openTestDatabase({ engine });
    try {
      await db.transaction(async (tx) => {
        const account = { role: "user", passwordHash: "", passwordMustChange: false } as const;
        await insertVaultUser(tx, { id: mira, handle: "m", email: "m@example.org", ...account });
        await insertQuota(tx, mira, 100);
      });
      await db.run("UPDATE vault_quotas SET documents = 7");
      expect(await db.transaction(correctUsedBytes)).toEqual(["mira"]);
      expect(await findDocumentCount(db, mira)).toBe(0);
      expect(await db.transaction(correctUsedBytes)).toEqual([]);
    } finally {
      await db.close();
    }
  });
});
