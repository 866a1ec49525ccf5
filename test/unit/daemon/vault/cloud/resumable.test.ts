import { createHash } from "node:crypto";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import type { CloudProvider, CloudProviderType } from "../../../../../storage/cloud/provider.ts";
import { createPartFiles } from "../../../../../storage/part-files.ts";
import { createMemoryStorage } from "../../../../support/cloud/memory-provider.ts";
import { openTestCloud } from "../../../../support/cloud/vault-cloud.ts";

const bytes = Buffer.from("the bytes of a file");
const sha256 = createHash("sha256").update(bytes).digest("hex");

async function openScene(storage = createMemoryStorage()) {
  const t = await openTestCloud({ providerTypes: [storage.type] });
  const mira = await t.addUser("mira");
  const made = await t.cloud.connections.create(mira, {
    provider: "memory",
    display_name: "Memory",
    settings: {},
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  const connection = made.connection.id;
  const begin = () =>
    t.cloud.resumable.begin(mira, connection, {
      name: "file.txt",
      size: bytes.length,
      fingerprint: "one",
    });
  const begun = await begin();
  if (begun.kind !== "open") throw new Error(begun.kind);
  const place = { connection_id: connection, upload_id: begun.upload.id };
  await t.cloud.resumable.append(mira, place, { offset: 0, content: Readable.from([bytes]) });
  return {
    t,
    storage,
    mira,
    place,
    begin,
    parts: () => readdir(join(t.files, "..", "..", "uploads")),
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

test("a provider that is away leaves the bytes for another attempt", async () => {
  await using scene = await openScene();
  const { t, storage, mira, place } = scene;
  storage.fail("upload", { kind: "offline", sent: true });
  const failed = await t.cloud.resumable.complete(mira, place, sha256);
  expect(failed.kind).toBe("offline");
  expect(await scene.parts()).toEqual([place.upload_id]);
  const done = await t.cloud.resumable.complete(mira, place, sha256);
  expect(done).toMatchObject({ kind: "uploaded", size: bytes.length });
  expect(await scene.parts()).toEqual([]);
  expect((await t.audit()).map(({ event_type: type }) => type)).toEqual(["cloud.file_uploaded"]);
});

test("the hash of an upload without bytes is compared, too", async () => {
  await using scene = await openScene();
  const { t, mira, place } = scene;
  const begin = async () => {
    const empty = { name: "empty.txt", size: 0, fingerprint: "none" };
    const begun = await t.cloud.resumable.begin(mira, place.connection_id, empty);
    if (begun.kind !== "open") throw new Error(begun.kind);
    return { connection_id: place.connection_id, upload_id: begun.upload.id };
  };
  const wrong = await t.cloud.resumable.complete(mira, await begin(), sha256);
  expect(wrong).toEqual({ kind: "hash_mismatch" });
  const hashOfNothing = createHash("sha256").digest("hex");
  const right = await t.cloud.resumable.complete(mira, await begin(), hashOfNothing);
  expect(right).toMatchObject({ kind: "uploaded", size: 0 });
});

test("a failure that cannot pass discards the bytes", async () => {
  await using scene = await openScene();
  const { t, storage, mira, place } = scene;
  storage.fail("upload", { kind: "forbidden" });
  expect((await t.cloud.resumable.complete(mira, place, sha256)).kind).toBe("forbidden");
  expect(await scene.parts()).toEqual([]);
});

test("an upload expires after two days, and a job removes it with its bytes", async () => {
  await using scene = await openScene();
  const { t, mira, place } = scene;
  t.now += 47 * 3600 * 1000;
  await t.queue.runDue();
  expect(await scene.parts()).toEqual([place.upload_id]);
  t.now += 2 * 3600 * 1000;
  await expect(t.cloud.resumable.complete(mira, place, sha256)).rejects.toMatchObject({
    code: "not_found",
  });
  await t.queue.runDue();
  expect(await scene.parts()).toEqual([]);
  expect(await t.db.all("SELECT id FROM vault_uploads")).toEqual([]);
  const again = await scene.begin();
  expect(again).toMatchObject({ kind: "open", offset: 0 });
});

test("the bytes of a connection that was deleted are removed by the same job", async () => {
  await using scene = await openScene();
  const { t, mira, place } = scene;
  await t.cloud.connections.remove(mira, place.connection_id);
  t.now += 49 * 3600 * 1000;
  await t.queue.runDue();
  expect(await scene.parts()).toEqual([]);
});

test("the provider's session is sealed in the row, continued by the next attempt and discarded with the upload", async () => {
  const storage = createMemoryStorage();
  const seen: (string | undefined)[] = [];
  const discarded: string[] = [];
  const type: CloudProviderType = {
    ...storage.type,
    async connect(...input) {
      const outcome = await storage.type.connect(...input);
      if (outcome.kind !== "ok") return outcome;
      const provider: CloudProvider = {
        ...outcome.provider,
        async upload({ content, session }) {
          content.destroy();
          seen.push(session?.saved);
          await session?.save("https://storage.example/session?secret");
          return { kind: "offline", sent: true };
        },
        discardSession: async ({ session }) => void discarded.push(session),
      };
      return { ...outcome, provider };
    },
  };
  await using scene = await openScene({ ...storage, type });
  const { t, mira, place } = scene;
  for (let attempt = 0; attempt < 2; attempt += 1)
    expect((await t.cloud.resumable.complete(mira, place, sha256)).kind).toBe("offline");
  expect(seen).toEqual([undefined, "https://storage.example/session?secret"]);
  const rows = await t.db.all<{ sealed_session: string }>("SELECT * FROM vault_uploads");
  expect(rows).toHaveLength(1);
  expect(rows[0]?.sealed_session).not.toContain("storage.example");
  await t.cloud.resumable.cancel(mira, place);
  expect(discarded).toEqual(["https://storage.example/session?secret"]);
  expect(await scene.parts()).toEqual([]);
});

test("two requests to complete an upload get the result of one", async () => {
  await using scene = await openScene();
  const { t, mira, place } = scene;
  const results = await Promise.all(
    [1, 2].map(() => t.cloud.resumable.complete(mira, place, sha256)),
  );
  expect(results.map(({ kind }) => kind)).toEqual(["uploaded", "uploaded"]);
  expect(await t.audit()).toHaveLength(1);
});

test("a restarted daemon gives the result of a completed upload again, until the upload would have expired", async () => {
  await using scene = await openScene();
  const { t, storage, mira, place } = scene;
  const done = await t.cloud.resumable.complete(mira, place, sha256);
  const { item } = done as { item: { id: string } };
  const answer = { kind: "uploaded", item: { id: item.id, name: "file.txt" }, size: bytes.length };
  await using restarted = await openTestCloud({ db: t.db, providerTypes: [storage.type] });
  const complete = (hash = sha256) => restarted.cloud.resumable.complete(mira, place, hash);
  expect(await complete()).toMatchObject({ ...answer, parentRef: null });
  expect(await complete()).toMatchObject(answer);
  await expect(complete("0".repeat(64))).rejects.toMatchObject({ code: "not_found" });
  const noah = await t.addUser("noah");
  await expect(restarted.cloud.resumable.complete(noah, place, sha256)).rejects.toMatchObject({
    code: "not_found",
  });
  expect(await t.audit()).toHaveLength(1);

  restarted.now = t.now + 49 * 3600 * 1000;
  await expect(complete()).rejects.toMatchObject({ code: "not_found" });
  t.now += 49 * 3600 * 1000;
  await t.queue.runDue();
  expect(await t.db.all("SELECT upload_id FROM vault_upload_results")).toEqual([]);
});

test("a daemon that dies between the record of the file and the removal of its upload gives the same result", async () => {
  await using scene = await openScene();
  const { t, mira, place } = scene;
  const [row] = await t.db.all<Record<string, string | number | null>>(
    "SELECT * FROM vault_uploads",
  );
  const done = await t.cloud.resumable.complete(mira, place, sha256);
  const columns = Object.keys(row ?? {});
  await t.db.run(
    `INSERT INTO vault_uploads (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ...Object.values(row ?? {}),
  );
  const again = await t.cloud.resumable.complete(mira, place, sha256);
  expect(again).toMatchObject({ kind: "uploaded", size: (done as { size: number }).size });
  expect(await t.db.all("SELECT id FROM vault_uploads")).toEqual([]);
  expect(await t.audit()).toHaveLength(1);
});

test("while one daemon completes an upload, another one answers that it is locked, until the first one dies", async () => {
  const storage = createMemoryStorage();
  const started = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const slow: CloudProviderType = {
    ...storage.type,
    async connect(...input) {
      const outcome = await storage.type.connect(...input);
      if (outcome.kind !== "ok") return outcome;
      const { provider } = outcome;
      const upload: CloudProvider["upload"] = async (file) => {
        started.resolve();
        await held.promise;
        return provider.upload(file);
      };
      return { ...outcome, provider: { ...provider, upload } };
    },
  };
  await using scene = await openScene({ ...storage, type: slow });
  const { t, mira, place } = scene;
  await using other = await openTestCloud({
    db: t.db,
    providerTypes: [storage.type],
    deps: { partFiles: createPartFiles(join(t.files, "..", "..", "uploads")) },
  });
  other.now = t.now;
  const first = t.cloud.resumable.complete(mira, place, sha256);
  await started.promise;
  const complete = () => other.cloud.resumable.complete(mira, place, sha256);
  expect(await complete()).toEqual({ kind: "locked" });
  expect(await scene.parts()).toEqual([place.upload_id]);
  // The claim of a dead daemon ends.
  other.now += 61_000;
  expect(await complete()).toMatchObject({ kind: "uploaded", size: bytes.length });
  held.resolve();
  await first;
});

test("a file whose parts another daemon writes to after their hash was compared is refused", async () => {
  await using scene = await openScene();
  const { t, mira, place } = scene;
  const uploads = join(t.files, "..", "..", "uploads");
  const parts = createPartFiles(uploads);
  await using other = await openTestCloud({
    db: t.db,
    providerTypes: [scene.storage.type],
    deps: {
      partFiles: {
        ...parts,
        async hash(id) {
          const hash = await parts.hash(id);
          await writeFile(join(uploads, id), "other bytes of it!!");
          return hash;
        },
      },
    },
  });
  other.now = t.now;
  expect(await other.cloud.resumable.complete(mira, place, sha256)).toEqual({
    kind: "hash_mismatch",
  });
  expect(await scene.parts()).toEqual([]);
});

test("a part that two daemons write at once, one of them late, is written once", async () => {
  await using scene = await openScene();
  const { t, mira, place } = scene;
  const uploads = join(t.files, "..", "..", "uploads");
  await using other = await openTestCloud({
    db: t.db,
    providerTypes: [scene.storage.type],
    deps: { partFiles: createPartFiles(uploads) },
  });
  const whole = Buffer.concat([bytes, bytes]);
  const { connection_id: connection } = place;
  const file = { name: "twice.txt", size: whole.length, fingerprint: "two" };
  const begun = await t.cloud.resumable.begin(mira, connection, file);
  if (begun.kind !== "open") throw new Error(begun.kind);
  const at = { connection_id: connection, upload_id: begun.upload.id };
  // The first daemon has not noticed that its client is gone.
  const slow = new PassThrough();
  const late = t.cloud.resumable.append(mira, at, { offset: 0, content: slow });
  slow.write(bytes);
  const sizeOf = async () => (await stat(join(uploads, at.upload_id))).size;
  await expect.poll(sizeOf).toBe(bytes.length);
  const rest = { offset: bytes.length, content: Readable.from([bytes]) };
  expect(await other.cloud.resumable.append(mira, at, rest)).toMatchObject({
    offset: whole.length,
  });
  slow.end(bytes);
  await late;
  const hash = createHash("sha256").update(whole).digest("hex");
  expect(await other.cloud.resumable.complete(mira, at, hash)).toMatchObject({
    kind: "uploaded",
    size: whole.length,
  });
});
