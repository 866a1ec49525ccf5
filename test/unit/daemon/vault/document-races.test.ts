import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { createDocumentProcessing } from "../../../../daemon/vault/analysis/document-processing.ts";
import { createTopics } from "../../../../daemon/vault/documents/topics.service.ts";
import {
  findDocument,
  insertDocument,
  listTopicsOfDocuments,
  renameDocument,
} from "../../../../storage/tables/vault/documents/documents.ts";
import { deleteTopic, insertTopic } from "../../../../storage/tables/vault/documents/topics.ts";
import {
  claimUpload,
  deleteExpiredUploads,
  finishUpload,
  findUpload,
  insertUpload,
  releaseAllUploads,
  releaseUpload,
  renewUploadClaim,
  sumUploadBytes,
} from "../../../../storage/tables/vault/documents/uploads.ts";
import { toAccountId, toDocumentId } from "../../../../storage/tables/vault/ids.ts";
import { searchEntries } from "../../../../storage/tables/vault/search.ts";
import { insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import { parseQuery } from "../../../../daemon/vault/documents/query.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const mira = toAccountId("mira");
const id = toDocumentId("document");

async function open() {
  const clock = { now: 1_000_000 };
  const db = await openTestDatabase({ clock: () => clock.now });
  onTestFinished(() => db.close());
  await db.transaction((tx) =>
    insertVaultUser(tx, {
      ...{ id: mira, handle: "mira", email: "mira@example.org", passwordHash: "", role: "user" },
      passwordMustChange: false,
    }),
  );
  return { db, clock };
}

test("a document that is renamed, and whose topic is deleted, while it is read is found by its new name", async () => {
  const { db } = await open();
  await db.transaction(async (tx) => {
    await insertDocument(tx, {
      ...{ id, userId: mira, filename: "old.txt", contentType: "text/plain", sizeBytes: 1 },
      ...{ sha256: "0".repeat(64), storageBackend: "internal" },
      ...{ connectionId: undefined, providerItemId: undefined },
    });
    for (const name of ["gone", "kept"])
      await insertTopic(tx, { id: name, userId: mira, name, nameKey: name, description: "" });
  });
  const process = (topicId: string, meanwhile: () => Promise<unknown>) =>
    createDocumentProcessing({
      db,
      store: { open: async () => Readable.from(["x"]) } as never,
      files: {} as never,
      extractor: {
        extract: async () => ({
          ...{ kind: "text", text: "some words", contentType: "text/plain", missing: undefined },
        }),
        close: async () => undefined,
      },
      topics: {
        async choose() {
          await meanwhile();
          return { topicId, topic: topicId, confidence: 1, words: [], provider: "builtin" };
        },
      },
      index: { prepare: async () => async () => undefined },
    }).run({ document_id: id }, { attempt: 1, signal: new AbortController().signal } as never);
  await process("gone", () =>
    db.transaction(async (tx) => {
      await renameDocument(tx, id, "new.txt");
      await deleteTopic(tx, "gone");
    }),
  );
  const total = async (words: string) =>
    (await searchEntries(db, parseQuery(words), { userId: mira }, { limit: 5, offset: 0 })).total;
  expect([await total("old"), await total("new"), await total("words")]).toEqual([0, 1, 1]);
  expect(await findDocument(db, id)).toMatchObject({ status: "ready", classifiedTopic: undefined });
  await process("kept", async () => undefined);
  expect((await listTopicsOfDocuments(db, [id])).get(id)).toEqual(["kept"]);
});

test("two edits of a topic at once keep both changes", async () => {
  const { db } = await open();
  const topics = createTopics({ db, newId: () => "topic" });
  const caller = { userId: mira, role: "user", address: "192.0.2.1" } as never;
  await topics.create(caller, { name: "Tax", description: "" }, "caller");
  await Promise.all([
    topics.update(caller, "topic", { name: "Taxes" }),
    topics.update(caller, "topic", { description: "what the state wants" }),
  ]);
  expect(await topics.list(caller)).toMatchObject([
    { name: "Taxes", description: "what the state wants" },
  ]);
});

test("an upload whose daemon was killed is taken over at the start, or once its claim has expired", async () => {
  const { db, clock } = await open();
  const upload = { ...{ id, userId: mira, ticketHash: "t", filename: "a", contentType: "b" } };
  await db.transaction((tx) =>
    insertUpload(tx, {
      ...upload,
      ...{ sizeBytes: 5, promisedSha256: undefined, expiresAt: clock.now + 30_000 },
    }),
  );
  const claim = (by: string) =>
    db.transaction((tx) => claimUpload(tx, { id, claim: by }, clock.now + 60_000));
  expect(await Promise.all([claim("a"), claim("b")])).toEqual([true, false]);
  clock.now += 59_000;
  expect(await claim("b")).toBe(false);
  expect(await renewUploadClaim(db, { id, claim: "a" }, clock.now + 60_000)).toBe(true);
  // The address has expired, and a request is still receiving.
  expect(await deleteExpiredUploads(db, clock.now)).toBe(0);
  expect(await sumUploadBytes(db, mira, clock.now)).toBe(5);
  clock.now += 60_000;
  expect(await sumUploadBytes(db, mira, clock.now)).toBe(0);
  expect(await claim("b")).toBe(true);
  expect(await renewUploadClaim(db, { id, claim: "a" }, clock.now + 60_000)).toBe(false);
  expect(await finishUpload(db, { id, claim: "a" }, "0".repeat(64))).toBe(false);
  await releaseUpload(db, { id, claim: "a" });
  expect(await findUpload(db, id)).toMatchObject({ state: "receiving" });
  expect(await releaseAllUploads(db)).toBe(1);
  expect(await claim("c")).toBe(true);
  expect(await finishUpload(db, { id, claim: "c" }, "0".repeat(64))).toBe(true);
});
