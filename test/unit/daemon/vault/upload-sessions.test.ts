import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { BytesChanged, toVerified } from "../../../../daemon/utilities/receive-body.ts";
import { createDocumentRecords } from "../../../../daemon/vault/documents/document-records.ts";
import { createUploadSessions } from "../../../../daemon/vault/documents/upload-sessions.service.ts";
import { createFileObjects } from "../../../../storage/objects/file-objects.ts";
import { createPartFiles } from "../../../../storage/part-files.ts";
import { toAccountId } from "../../../../storage/tables/vault/ids.ts";
import { insertQuota } from "../../../../storage/tables/vault/quotas.ts";
import { insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const hashOf = (bytes: string) => createHash("sha256").update(bytes).digest("hex");

test("bytes of another hash are refused before the last of them are passed on", async () => {
  const parts = ["one ", "two ", "three"];
  const whole = parts.join("");
  const read = (sha256: string) =>
    buffer(toVerified(Readable.from(parts.map(Buffer.from)), sha256));
  expect((await read(hashOf(whole))).toString()).toBe(whole);
  const seen: string[] = [];
  const other = toVerified(Readable.from(parts.map((part) => Buffer.from(part))), hashOf("other"));
  other.on("data", (chunk: Buffer) => seen.push(chunk.toString()));
  await expect(new Promise((_, fail) => other.once("error", fail))).rejects.toThrow(BytesChanged);
  expect(seen).toEqual(["one ", "two "]);
  const empty = (sha256: string) => buffer(toVerified(Readable.from([]), sha256));
  expect((await empty(hashOf(""))).length).toBe(0);
  await expect(empty(hashOf("other"))).rejects.toThrow(BytesChanged);
});

/** Uploads whose file another daemon writes to before it is stored, which is after its hash was compared for a provider. */
async function openScene(backend: string) {
  const folder = await mkdtemp(join(tmpdir(), "croft-upload-sessions-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const db = await openTestDatabase({ engine: "sqlite" });
  onTestFinished(() => db.close());
  const mira = toAccountId("mira");
  await db.transaction((tx) =>
    insertVaultUser(tx, {
      ...{ id: mira, handle: "mira", email: "mira@example.org" },
      ...{ passwordHash: "", role: "user", passwordMustChange: false },
    }),
  );
  await db.transaction((tx) => insertQuota(tx, mira, 1_000));
  const uploads = join(folder, "uploads");
  const parts = createPartFiles(uploads);
  const stored: string[] = [];
  const records = createDocumentRecords({
    db,
    enqueueProcessing: async () => undefined,
    files: {
      async store(_caller, _backend, { content }) {
        stored.push((await buffer(content)).toString());
        return undefined;
      },
    },
  });
  const sessions = createUploadSessions({
    ...{ db, clock: Date.now, newId: () => crypto.randomUUID(), uploadBytesMax: 1_000 },
    jobs: { enqueue: async () => 0 },
    partFiles: {
      ...parts,
      async open(id) {
        await writeFile(join(uploads, id), "the other");
        return parts.open(id);
      },
    },
    store: createFileObjects({
      folder: join(folder, "objects"),
      tmp: folder,
      newId: () => "writing",
      clock: () => 0,
      onDamaged: ({ sha256 }) => expect.unreachable(`${sha256} is damaged`),
    }),
    records: { ...records, findBackend: async () => backend },
    documents: {} as never,
  });
  const caller = { userId: mira, role: "user", address: "192.0.2.1" } as never;
  return { db, folder, stored, sessions, caller, parts: () => readdir(uploads) };
}

test.each(["internal", "memory"])(
  "a document whose parts another daemon writes to while it is completed is refused by %s storage",
  async (backend) => {
    const { db, folder, stored, sessions, caller, parts } = await openScene(backend);
    const file = { filename: "a.txt", size: 9, fingerprint: "one" };
    const { session } = await sessions.begin(caller, file);
    const content = Readable.from([Buffer.from("the first")]);
    await sessions.append(caller, session.id, { offset: 0, content });
    expect(await sessions.complete(caller, session.id, hashOf("the first"))).toEqual({
      kind: "hash_mismatch",
    });
    expect(stored).toEqual([]);
    expect(await db.all("SELECT id FROM vault_documents")).toEqual([]);
    expect(await parts()).toEqual([]);
    expect((await readdir(folder)).filter((name) => name !== "uploads")).toEqual([]);
  },
);
