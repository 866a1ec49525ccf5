import { hash, randomBytes } from "node:crypto";
import type * as FileSystem from "node:fs/promises";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { createFileObjects } from "../../../../storage/objects/file-objects.ts";

const calls: string[] = [];
/** The bytes that the disk still takes; undefined without a limit. */
let room: number | undefined;

vi.mock("node:fs/promises", async (importOriginal) => {
  const original = await importOriginal<typeof FileSystem>();
  const counted = Object.fromEntries(
    (["mkdir", "rename", "rmdir", "stat", "unlink", "rm"] as const).map((name) => [
      name,
      (...args: never[]) => {
        calls.push(name);
        return (original[name] as (...all: never[]) => unknown)(...args);
      },
    ]),
  );
  return {
    ...original,
    ...counted,
    async open(...args: Parameters<typeof original.open>): Promise<FileSystem.FileHandle> {
      calls.push("open");
      const handle = await original.open(...args);
      const write = handle.write.bind(handle) as (
        bytes: Uint8Array,
      ) => Promise<{ bytesWritten: number }>;
      const take = async (chunks: readonly Uint8Array[]) => {
        calls.push("write");
        const all = Buffer.concat(chunks);
        const part = all.subarray(0, room);
        if (part.byteLength === 0 && all.byteLength > 0)
          throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
        if (room !== undefined) room -= part.byteLength;
        return write(part);
      };
      handle.writev = take as never;
      handle.write = ((chunk: Uint8Array) => take([chunk])) as never;
      const sync = handle.sync.bind(handle);
      handle.sync = () => {
        calls.push("fsync");
        return sync();
      };
      return handle;
    },
  };
});

let home: string | undefined;
afterEach(async () => {
  room = undefined;
  if (home !== undefined) await rm(home, { recursive: true });
});

async function newStore() {
  home = await mkdtemp(join(tmpdir(), "croft-objects-"));
  const [folder, temporary] = [join(home, "packages"), join(home, "tmp")];
  for (const path of [folder, temporary]) await mkdir(path);
  return createFileObjects({
    folder,
    tmp: temporary,
    newId: () => crypto.randomUUID(),
    clock: () => Date.now(),
    onDamaged: () => undefined,
  });
}

test("chunks that arrive while others are written are written together, in their order", async () => {
  const store = await newStore();
  const chunks = Array.from({ length: 50 }, (_, at) => randomBytes(at === 20 ? 0 : 1 + at * 977));
  const writer = await store.createPlain();
  calls.length = 0;
  for (const chunk of chunks) await writer.write(chunk);
  const { sha256, size } = await writer.seal();
  expect(calls.filter((name) => name === "write").length).toBeLessThan(20);
  await writer.publish();
  const bytes = Buffer.concat(chunks);
  expect([sha256, size]).toEqual([hash("sha256", bytes), bytes.byteLength]);
  const stream = await store.open(sha256, size);
  expect(Buffer.concat((await stream?.toArray()) ?? [])).toEqual(bytes);
});

test("a disk that is full after a part of the chunks refuses the object", async () => {
  const store = await newStore();
  for (const taken of [0, 1, 150, 299]) {
    room = taken;
    const writer = await store.createPlain();
    const writing = (async () => {
      for (let at = 0; at < 3; at += 1) await writer.write(randomBytes(100));
      await writer.seal();
    })();
    await expect(writing).rejects.toMatchObject({ code: "full" });
    await writer.discard();
  }
  expect(await readdir(join(home ?? "", "tmp"))).toEqual([]);
});

test("publishing bytes that exist makes the same calls as publishing new ones", async () => {
  const store = await newStore();
  const publish = async (bytes: Uint8Array) => {
    const writer = await store.createPlain();
    await writer.write(bytes);
    await writer.seal();
    calls.length = 0;
    await writer.publish();
    return calls.toSorted();
  };
  // The first one creates the folders of the first level.
  await publish(randomBytes(100));
  const bytes = randomBytes(100);
  const fresh = await publish(bytes);
  expect(await publish(bytes)).toEqual(fresh);
  expect(fresh.filter((name) => name === "fsync")).toHaveLength(2);
});
