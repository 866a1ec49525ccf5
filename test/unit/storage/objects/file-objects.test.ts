import { randomBytes } from "node:crypto";
import type * as FileSystem from "node:fs/promises";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { createFileObjects } from "../../../../storage/objects/file-objects.ts";

const calls: string[] = [];

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
  if (home !== undefined) await rm(home, { recursive: true });
});

test("publishing bytes that exist makes the same calls as publishing new ones", async () => {
  home = await mkdtemp(join(tmpdir(), "croft-objects-"));
  const [folder, temporary] = [join(home, "packages"), join(home, "tmp")];
  for (const path of [folder, temporary]) await mkdir(path);
  const store = createFileObjects({
    folder,
    tmp: temporary,
    newId: () => crypto.randomUUID(),
    clock: () => Date.now(),
    onDamaged: () => undefined,
  });
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
