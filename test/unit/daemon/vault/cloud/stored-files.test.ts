import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createVaultDocuments } from "../../../../../daemon/vault/documents/documents.feature.ts";
import type { VaultCaller } from "../../../../../daemon/vault/caller.ts";
import { withBytes } from "../../../../../daemon/vault/dav/copying.ts";
import { createDocumentTree } from "../../../../../daemon/vault/dav/document-tree.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { StorageError } from "../../../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../../../storage/objects/object-store.ts";
import { insertStoredFileWrite } from "../../../../../storage/tables/vault/documents/stored-bytes.ts";
import { insertQuota } from "../../../../../storage/tables/vault/quotas.ts";
import { setDefaultStorageBackend } from "../../../../../storage/tables/vault/users.ts";
import { createMemoryStorage } from "../../../../support/cloud/memory-provider.ts";
import { openTestCloud } from "../../../../support/cloud/vault-cloud.ts";
import { toConnectionId } from "../../../../../storage/tables/vault/ids.ts";

const DAY_MS = 24 * 3_600_000;
const signal = new AbortController().signal;

/** Documents that go to a storage in memory, whose failures a test orders. */
async function openScene(wrapDatabase?: (db: Database) => Database) {
  const storage = createMemoryStorage();
  const t = await openTestCloud({
    providerTypes: [storage.type],
    ...(wrapDatabase === undefined ? {} : { wrapDatabase }),
  });
  const mira = await t.addUser("mira");
  const made = await t.cloud.connections.create(mira, {
    provider: "memory",
    display_name: "Memory",
    settings: {},
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  await setDefaultStorageBackend(t.db, mira.userId, "memory");
  await t.db.transaction((tx) => insertQuota(tx, mira.userId, 0));
  let ids = 0;
  const { services: vault } = createVaultDocuments({
    db: t.db,
    clock: () => t.now,
    randomBytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
    newId: () => `00000000-0000-7000-8000-${String((ids += 1)).padStart(12, "0")}`,
    store: {} as ObjectStore,
    jobs: { enqueue: async () => 1 } as never,
    partFiles: {} as never,
    registration: {} as never,
    queueInvitation: async () => undefined,
    inviting: "administrators",
    storedFiles: t.cloud.storedFiles,
    uploadBytesMax: 1000,
    trashDays: 30,
    versionsKept: 10,
    instanceName: "croft",
    enqueueProcessing: async () => undefined,
    publicUrl: () => "http://127.0.0.1",
    log: { warn: () => undefined },
  });
  const client = storage.connect();
  return {
    t,
    mira,
    storage,
    vault,
    documents: vault.documents,
    trash: vault.trash,
    upload: (content: string | Readable, caller: VaultCaller = mira, filename = "note.txt") =>
      vault.uploads.upload(caller, {
        filename,
        contentType: "text/plain",
        content: typeof content === "string" ? Readable.from([Buffer.from(content)]) : content,
        size: undefined,
      }),
    /** Names of the files below the folder for documents. */
    async files(): Promise<string[]> {
      const root = await client.list({ folder: "", signal });
      if (root.kind !== "ok") throw new Error(root.kind);
      const folder = root.items.find(({ name }) => name === "croft");
      if (folder === undefined) return [];
      const listed = await client.list({ folder: folder.id, signal });
      if (listed.kind !== "ok") throw new Error(listed.kind);
      return listed.items.map(({ id }) => id);
    },
    async writes() {
      return (await t.db.all("SELECT * FROM vault_stored_file_writes")).length;
    },
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

test("an upload leaves a document, one file, and no note of a write", async () => {
  await using scene = await openScene();
  const { document } = await scene.upload("hello");
  expect(document).toMatchObject({ storageBackend: "memory", sizeBytes: 5 });
  expect(await scene.files()).toEqual([document.providerItemId]);
  expect(await scene.writes()).toBe(0);
  const kinds = (await scene.t.audit()).map((row) => row.event_type);
  expect(kinds).toEqual(["cloud.folder_created", "document.uploaded", "cloud.file_uploaded"]);
});

test("a document of the longest name is stored, whatever follows its dot", async () => {
  await using scene = await openScene();
  const { documents, mira } = scene;
  for (const filename of [`a.${"x".repeat(253)}`, `${"é".repeat(125)}.txt`]) {
    const { document } = await scene.upload(filename, mira, filename);
    expect(document).toMatchObject({ filename });
    const stored = await documents.open(document);
    expect(await text(await stored.open())).toBe(filename);
  }
  expect(await scene.files()).toHaveLength(2);
});

test("uploads at once create the folder once", async () => {
  await using scene = await openScene();
  await Promise.all(["a", "b", "c"].map((content) => scene.upload(content)));
  expect(await scene.files()).toHaveLength(3);
  expect(scene.storage.calls.filter((verb) => verb === "createFolder")).toHaveLength(1);
});

test("a folder that was deleted at the provider is created again", async () => {
  await using scene = await openScene();
  await scene.upload("before");
  const client = scene.storage.connect();
  const root = await client.list({ folder: "", signal });
  const [folder] = root.kind === "ok" ? root.items : [];
  await client.delete({ id: folder?.id ?? "", expected: {}, signal });
  await scene.upload("after");
  expect(await scene.files()).toHaveLength(1);
});

test.each([
  [{ kind: "offline", sent: false } as const, "unavailable"],
  [{ kind: "rate_limited", retryAfterSeconds: 60 } as const, "unavailable"],
  [{ kind: "quota_exceeded" } as const, "provider_failed"],
  [{ kind: "forbidden" } as const, "provider_failed"],
  [{ kind: "invalid_name", rule: "reserved_name" } as const, "unprocessable"],
  [{ kind: "unknown_outcome" } as const, "provider_failed"],
])("an upload that fails as $kind keeps nothing", async (failure, code) => {
  await using scene = await openScene();
  scene.storage.fail("upload", failure, failure, failure, failure, failure);
  await expect(scene.upload("x")).rejects.toMatchObject({ code });
  expect(await scene.writes()).toBe(0);
  scene.storage.recover();
  expect(await scene.files()).toEqual([]);
});

test("a move over WebDAV deletes the file of a document only in the version that it has copied", async () => {
  await using scene = await openScene();
  const { t, mira, storage, vault } = scene;
  const { document } = await scene.upload("first");
  const copy = async () => {
    const all = await createDocumentTree({ db: t.db, ...vault })(mira).find("all");
    const file = all?.kind === "folder" ? await all.find("note.txt") : undefined;
    if (file?.kind !== "file") throw new Error("the document is missing");
    return { file, copied: await withBytes(file, ({ content }) => text(content)) };
  };
  const { file, copied } = await copy();
  expect(copied).toBe("first");
  storage.overwrite(document.providerItemId ?? "", Buffer.from("by another program"));
  await expect(file.remove(true)).rejects.toMatchObject({ status: 503 });
  expect(await scene.files()).toEqual([document.providerItemId]);
  const again = await copy();
  expect(again.copied).toBe("by another program");
  await again.file.remove(true);
  expect(await scene.files()).toEqual([]);
});

test("a connection that must be reconnected answers unavailable", async () => {
  await using scene = await openScene();
  const { document } = await scene.upload("x".repeat(500));
  scene.storage.fail("read", { kind: "reauth" });
  await expect(
    scene.documents.content(scene.mira, document.id, "attachment"),
  ).rejects.toMatchObject({ code: "unavailable" });
  await expect(scene.upload("y")).rejects.toMatchObject({ code: "unavailable" });
  expect(await scene.trash.remove(scene.mira, document.id, {})).toBe(false);
});

test("an aborted body and one that is too large keep nothing", async () => {
  await using scene = await openScene();
  const broken = Readable.from(
    (async function* () {
      yield Buffer.from("half");
      throw new Error("the client went away");
    })(),
    { objectMode: false },
  );
  await expect(scene.upload(broken)).rejects.toThrow("the client went away");
  await expect(scene.upload("x".repeat(1001))).rejects.toMatchObject({ code: "too_large" });
  expect(await scene.files()).toEqual([]);
  expect(await scene.writes()).toBe(0);
});

test("a file whose answer was lost is deleted at once", async () => {
  await using scene = await openScene();
  scene.storage.failAfter("upload", { kind: "unknown_outcome" });
  await expect(scene.upload("x")).rejects.toMatchObject({ code: "provider_failed" });
  expect(await scene.files()).toEqual([]);
  expect(await scene.writes()).toBe(0);
});

test("a file that a crash left without a document is deleted by the reconciliation a day later", async () => {
  let isCrashed = false;
  const failing = (db: Database): Database => ({
    ...db,
    get: db.get.bind(db),
    all: db.all.bind(db),
    run: db.run.bind(db),
    close: db.close.bind(db),
    dialect: db.dialect,
    transaction: (work) =>
      db.transaction(async (tx) => {
        const get: typeof tx.get = (sql, ...values) => {
          if (isCrashed && sql.includes("INSERT INTO vault_documents"))
            throw new StorageError("full", "no room");
          return tx.get(sql, ...values);
        };
        return work({
          ...tx,
          dialect: tx.dialect,
          now: tx.now,
          get,
          all: tx.all.bind(tx),
          run: tx.run.bind(tx),
        });
      }),
  });
  await using scene = await openScene(failing);
  await scene.upload("kept");
  isCrashed = true;
  // Discarding at once fails, too.
  scene.storage.fail("list", { kind: "forbidden" });
  await expect(scene.upload("lost")).rejects.toMatchObject({ code: "provider_failed" });
  expect(await scene.files()).toHaveLength(2);
  expect(await scene.writes()).toBe(1);
  scene.storage.recover();
  expect(await scene.documents.reconcile(signal)).toMatchObject({ discarded: 0 });
  scene.t.now += DAY_MS + 1;
  expect(await scene.documents.reconcile(signal)).toMatchObject({ discarded: 1, withoutFile: [] });
  expect(await scene.files()).toHaveLength(1);
  expect(await scene.writes()).toBe(0);
  expect(scene.t.errors).not.toEqual([]);
});

test("each listing deletes 20 leftovers of crashed uploads: 45 abandoned writes list their folder three times", async () => {
  await using scene = await openScene();
  await scene.upload("kept");
  const { id: connectionId } = (await scene.t.db.get<{ id: string }>(
    "SELECT id FROM vault_connections",
  )) ?? { id: "" };
  const writes = Array.from({ length: 45 }, (_, index) => ({
    id: `write-${index}`,
    connectionId: toConnectionId(connectionId),
    parentRef: "croft",
    name: `lost ${index}.txt`,
  }));
  await scene.t.db.transaction(async (tx) => {
    for (const write of writes) await insertStoredFileWrite(tx, write);
  });
  scene.t.now += DAY_MS + 1;
  const lists = () => scene.storage.calls.filter((verb) => verb === "list").length;
  const before = lists();
  expect(await scene.documents.reconcile(signal)).toMatchObject({ discarded: 45 });
  // Where ids are not paths, each write is found by a listing of its own.
  expect(lists() - before).toBe(45 + 3);
  expect(await scene.files()).toHaveLength(1);
  expect(await scene.writes()).toBe(0);
});

test("a deletion succeeds for a file that was changed or deleted at the provider", async () => {
  await using scene = await openScene();
  const [changed, missing] = [await scene.upload("one"), await scene.upload("two")];
  scene.storage.overwrite(changed.document.providerItemId ?? "", Buffer.from("edited"));
  await scene.storage
    .connect()
    .delete({ id: missing.document.providerItemId ?? "", expected: {}, signal });
  for (const { document } of [changed, missing])
    expect(await scene.trash.remove(scene.mira, document.id, {})).toBe(true);
  expect(await scene.files()).toEqual([]);
});

test.each([
  { kind: "offline", sent: true } as const,
  { kind: "locked" } as const,
  { kind: "forbidden" } as const,
  { kind: "unknown_outcome" } as const,
])("a deletion that fails as $kind keeps the document and its file", async (failure) => {
  await using scene = await openScene();
  const { document } = await scene.upload("one");
  scene.storage.fail("delete", failure, failure, failure, failure, failure);
  expect(await scene.trash.remove(scene.mira, document.id, {})).toBe(false);
  scene.storage.recover();
  const { bytes } = await scene.documents.content(scene.mira, document.id, "attachment");
  expect(await text(await bytes.open())).toBe("one");
  bytes.release?.();
});

test("the reconciliation names documents whose file or connection is missing", async () => {
  await using scene = await openScene();
  const { document } = await scene.upload("one");
  expect((await scene.documents.reconcile(signal)).withoutFile).toEqual([]);
  const { connectionId = toConnectionId("") } = document;
  await scene.t.cloud.connections.remove(scene.mira, connectionId);
  expect((await scene.documents.reconcile(signal)).withoutFile).toEqual([document.id]);
});
