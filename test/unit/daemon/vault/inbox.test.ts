import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import type { FormUpload } from "../../../../daemon/vault/documents/uploads.service.ts";
import { createInbox } from "../../../../daemon/vault/inbox/inbox.service.ts";
import {
  insertDocument,
  type VaultDocument,
} from "../../../../storage/tables/vault/documents/documents.ts";
import { toAccountId, toDocumentId } from "../../../../storage/tables/vault/ids.ts";
import { insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const calm = new AbortController().signal;

async function openScene(engine: "sqlite" | "postgres" = "sqlite") {
  const clock = { now: Date.now() };
  const db = await openTestDatabase({ engine, clock: () => clock.now });
  onTestFinished(() => db.close());
  const folder = await mkdtemp(join(tmpdir(), "croft-inbox-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const userId = toAccountId("mira");
  await db.transaction((tx) =>
    insertVaultUser(tx, {
      ...{ id: userId, handle: "mira", email: "mira@example.org" },
      ...{ passwordHash: "", role: "user" as const, passwordMustChange: false },
    }),
  );
  const stored: string[] = [];
  const upload = async ({ filename, content, terms }: FormUpload) => {
    const bytes = await text(content);
    const document = await db.transaction(async (tx) => {
      const refusal = await terms?.admit(tx, bytes.length);
      if (refusal !== undefined) throw refusal;
      const made: VaultDocument = await insertDocument(tx, {
        ...{ id: toDocumentId(randomUUID()), userId, filename, contentType: "text/plain" },
        ...{ sizeBytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") },
        ...{ storageBackend: "internal", connectionId: undefined, providerItemId: undefined },
      });
      await terms?.record(tx, made);
      return made;
    });
    stored.push(bytes);
    return { document, topics: [] };
  };
  const open = (uploads: { upload(input: FormUpload): Promise<unknown> } = { upload }) =>
    createInbox({
      ...{ db, folder, clock: () => clock.now },
      uploads: { upload: (_caller, input) => uploads.upload(input) },
      log: { info: () => undefined, warn: () => undefined },
    });
  const settle = async (inbox: ReturnType<typeof open>) => {
    await inbox.scan(calm);
    clock.now += 5_000;
    return inbox.scan(calm);
  };
  const own = join(folder, "mira");
  await open().scan(calm);
  return { clock, own, stored, upload, open, settle };
}

test("a file whose daemon was killed between the document and the deletion is stored once", async () => {
  const { own, stored, upload, open, settle } = await openScene();
  await writeFile(join(own, "a.txt"), "once");
  const killed = open({
    async upload(input: FormUpload) {
      await upload(input);
      throw new Error("killed");
    },
  });
  expect(await settle(killed)).toBe(true);
  expect(await readdir(own)).toEqual(["a.txt"]);
  // After a restart.
  const restarted = open();
  expect(await settle(restarted)).toBe(false);
  expect(stored).toEqual(["once"]);
  expect(await readdir(own)).toEqual([]);
  // The same file again is another document.
  await writeFile(join(own, "a.txt"), "once");
  await settle(restarted);
  expect(stored).toEqual(["once", "once"]);
});

test("another file that took the name of one that was stored is stored, too", async () => {
  const { own, stored, upload, open, settle } = await openScene();
  await writeFile(join(own, "a.txt"), "first");
  const killed = open({
    async upload(input: FormUpload) {
      await upload(input);
      throw new Error("killed");
    },
  });
  await settle(killed);
  await writeFile(join(own, "a.txt"), "other");
  await settle(open());
  expect(stored).toEqual(["first", "other"]);
  expect(await readdir(own)).toEqual([]);
});

test("a file that is written to while it is read is not lost and not stored half", async () => {
  const { own, stored, upload, open, settle } = await openScene();
  const path = join(own, "a.txt");
  await writeFile(path, "begin");
  let isFirst = true;
  const inbox = open({
    async upload(input: FormUpload) {
      if (isFirst) await writeFile(path, "begin and end");
      isFirst = false;
      return upload(input);
    },
  });
  await settle(inbox);
  expect(stored).toEqual([]);
  await settle(inbox);
  expect(stored).toEqual(["begin and end"]);
  expect(await readdir(own)).toEqual([]);
});

test("a failure that passes is tried again without a reason beside the file", async () => {
  const { clock, own, stored, upload, open, settle } = await openScene();
  await writeFile(join(own, "a.txt"), "a");
  let failures = 0;
  const inbox = open({
    async upload(input: FormUpload) {
      failures += 1;
      if (failures === 1) throw new Error("the storage is away");
      return upload(input);
    },
  });
  await settle(inbox);
  expect(await readdir(own)).toEqual(["a.txt"]);
  clock.now += 30_000;
  await inbox.scan(calm);
  expect(failures).toBe(1);
  clock.now += 30_000;
  await inbox.scan(calm);
  expect(stored).toEqual(["a"]);
});
