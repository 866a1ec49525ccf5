import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { AppError } from "../../../../daemon/errors.ts";
import type { FormUpload } from "../../../../daemon/vault/documents/uploads.service.ts";
import { createVaultInbox } from "../../../../daemon/vault/inbox/inbox.feature.ts";
import { createInbox } from "../../../../daemon/vault/inbox/inbox.service.ts";
import {
  insertDocument,
  type VaultDocument,
} from "../../../../storage/tables/vault/documents/documents.ts";
import { toAccountId, toDocumentId } from "../../../../storage/tables/vault/ids.ts";
import { putInboxFile } from "../../../../storage/tables/vault/inbox-files.ts";
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
  const addUser = (handle: string) =>
    db.transaction((tx) =>
      insertVaultUser(tx, {
        ...{ id: toAccountId(handle), handle, email: `${handle}@example.org` },
        ...{ passwordHash: "", role: "user" as const, passwordMustChange: false },
      }),
    );
  await addUser("mira");
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
  const toDeps = (uploads: { upload(input: FormUpload): Promise<unknown> }) => ({
    ...{ db, folder, clock: () => clock.now, isEnabled: true },
    uploads: { upload: (_caller: unknown, input: FormUpload) => uploads.upload(input) },
    log: { info: () => undefined, warn: () => undefined },
  });
  const open = (uploads: Parameters<typeof toDeps>[0] = { upload }) => createInbox(toDeps(uploads));
  const settle = async (inbox: ReturnType<typeof open>) => {
    await inbox.scan(calm);
    clock.now += 5_000;
    return inbox.scan(calm);
  };
  const own = join(folder, "mira");
  await open().scan(calm);
  return { db, addUser, clock, folder, own, stored, upload, toDeps, open, settle };
}

const refuse = async (): Promise<never> => {
  throw new AppError("unprocessable", "No.");
};

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

test("a file is stored again when its daemon was killed after the deletion of the first one", async () => {
  const { db, own, stored, open, settle } = await openScene();
  const inbox = open();
  await writeFile(join(own, "a.txt"), "twice");
  await settle(inbox);
  // What a kill leaves before the row is deleted.
  const [document] = await db.all<{ id: string }>("SELECT id FROM vault_documents");
  const row = {
    ...{ userId: toAccountId("mira"), name: "a.txt" },
    sha256: createHash("sha256").update("twice").digest("hex"),
    documentId: toDocumentId(document?.id ?? ""),
  };
  await db.transaction((tx) => putInboxFile(tx, row));
  await open().scan(calm);
  await writeFile(join(own, "a.txt"), "twice");
  await settle(open());
  expect(stored).toEqual(["twice", "twice"]);
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

test("a file is stored once however many looks come at once", async () => {
  const { clock, own, stored, upload, toDeps } = await openScene();
  const { tasks, close } = createVaultInbox(toDeps({ upload }));
  onTestFinished(close);
  const [task] = tasks;
  if (task === undefined) throw new Error("no task");
  const looks = () => Promise.all([1, 2, 3].map(() => task.run(calm)));
  await writeFile(join(own, "a.txt"), "once");
  await looks();
  clock.now += 5_000;
  await looks();
  expect(stored).toEqual(["once"]);
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

test("the folder of one account that cannot be used stops none of the others", async () => {
  const { addUser, folder, own, stored, open, settle } = await openScene();
  await addUser("anna");
  await addUser("bert");
  await addUser("zoe");
  const inbox = open();
  await writeFile(join(folder, "anna"), "a file");
  await symlink(join(folder, "nowhere"), join(folder, "bert"));
  await inbox.scan(calm);
  await writeFile(join(own, "a.txt"), "of mira");
  await writeFile(join(folder, "zoe", "z.txt"), "of zoe");
  await settle(inbox);
  expect(stored.toSorted()).toEqual(["of mira", "of zoe"]);
});

test("a refused file whose name has no room for a reason stops none of the others", async () => {
  const { addUser, folder, own, stored, upload, open, settle } = await openScene();
  await addUser("zoe");
  const long = `${"a".repeat(251)}.txt`;
  const inbox = open({
    upload: (input: FormUpload) => (input.filename === long ? refuse() : upload(input)),
  });
  await inbox.scan(calm);
  await writeFile(join(own, long), "refused");
  await writeFile(join(own, "b.txt"), "of mira");
  await writeFile(join(folder, "zoe", "z.txt"), "of zoe");
  await settle(inbox);
  expect(stored.toSorted()).toEqual(["of mira", "of zoe"]);
  expect(await readdir(own)).toEqual([long]);
});

test("a file with the longest name that comes twice becomes a document twice", async () => {
  const { clock, own, stored, open, settle } = await openScene();
  const path = join(own, `${"a".repeat(251)}.txt`);
  const inbox = open();
  for (let times = 0; times < 2; times += 1) {
    await writeFile(path, "same");
    await settle(inbox);
    clock.now += 60_000;
    expect(await readdir(own)).toEqual([]);
  }
  expect(stored).toEqual(["same", "same"]);
});

test("a refused file with a time in the future is not tried again until it changes", async () => {
  const { clock, own, open, settle } = await openScene();
  const path = join(own, "a.txt");
  await writeFile(path, "refused");
  await utimes(path, new Date("2099-01-01"), new Date("2099-01-01"));
  let tries = 0;
  const inbox = open({
    upload() {
      tries += 1;
      return refuse();
    },
  });
  await settle(inbox);
  clock.now += 60_000;
  await settle(inbox);
  expect(tries).toBe(1);
});
