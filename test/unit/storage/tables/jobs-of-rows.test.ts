import { describe, expect, test } from "vitest";
import type { Database } from "../../../../storage/engine/database.ts";
import { findJob, insertJob } from "../../../../storage/tables/common/jobs.ts";
import {
  deleteDocument,
  insertDocument,
} from "../../../../storage/tables/vault/documents/documents.ts";
import { deleteVaultUser, insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";
import {
  type DocumentId,
  toAccountId,
  toDocumentId,
} from "../../../../storage/tables/vault/ids.ts";

async function addDocument(db: Database, id: DocumentId): Promise<void> {
  await db.transaction((tx) =>
    insertDocument(tx, {
      id,
      userId: toAccountId("u"),
      filename: "a.txt",
      contentType: "text/plain",
      sizeBytes: 1,
      sha256: "0".repeat(64),
      storageBackend: "internal",
      connectionId: undefined,
      providerItemId: undefined,
    }),
  );
}

/** A waiting, a dead and a running job of one document. */
async function addJobs(db: Database, key: string): Promise<Record<string, number>> {
  const ids: Record<string, number> = {};
  for (const state of ["dead", "running", "waiting"]) {
    const job = { kind: "vault.documents.process", payload: {}, runAt: 0, key };
    const id = await db.transaction((tx) => insertJob(tx, job));
    const lease = state === "running" ? "'me', leased_until = 1" : "NULL, leased_until = NULL";
    await db.run(`UPDATE jobs SET state = ?, lease_owner = ${lease} WHERE id = ?`, state, id);
    ids[state] = id;
  }
  return ids;
}

describe.each(["sqlite", "postgres"] as const)("jobs of a document, on %s", (engine) => {
  test("jobs of a document are deleted with it and with its user, except a running one", async () => {
    const db = await openTestDatabase({ engine });
    try {
      await db.transaction((tx) =>
        insertVaultUser(tx, {
          id: toAccountId("u"),
          handle: "mira",
          email: "mira@example.org",
          passwordHash: "",
          role: "user",
          passwordMustChange: false,
        }),
      );
      for (const id of ["one", "two", "three"]) await addDocument(db, toDocumentId(id));
      const one = await addJobs(db, "one");
      const two = await addJobs(db, "two");
      const other = await db.transaction((tx) =>
        insertJob(tx, { kind: "mail.send", payload: {}, runAt: 0, key: "one" }),
      );
      const exists = async (id = 0) => (await findJob(db, id)) !== undefined;

      await db.transaction((tx) => deleteDocument(tx, toDocumentId("one")));
      expect(await exists(one["waiting"])).toBe(false);
      expect(await exists(one["dead"])).toBe(false);
      expect(await exists(one["running"])).toBe(true);
      expect(await exists(other)).toBe(true);
      expect(await exists(two["waiting"])).toBe(true);

      await db.transaction((tx) => deleteVaultUser(tx, toAccountId("u")));
      expect(await exists(two["waiting"])).toBe(false);
      expect(await exists(two["dead"])).toBe(false);
    } finally {
      await db.close();
    }
  });
});
