import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMovingObjects } from "../../../../storage/objects/moving-objects.ts";
import { createFileObjects } from "../../../../storage/objects/file-objects.ts";
import { StorageError } from "../../../../storage/engine/database.ts";
import { openFilesBelow } from "../../../support/open-files.ts";

test("a file is closed when its new place refuses writes", async () => {
  const folder = await mkdtemp(join(tmpdir(), "croft-moving-"));
  const from = createFileObjects({
    folder: join(folder, "old"),
    tmp: folder,
    newId: () => "1",
    clock: () => 0,
    onDamaged: ({ sha256 }) => expect.unreachable(`${sha256} is damaged`),
  });
  const writer = await from.create();
  await writer.write(Buffer.from("hello"));
  await writer.seal();
  await writer.publish();
  const to = { ...from, createPlain: () => Promise.reject(new StorageError("full", "no room")) };
  const sweeping = createMovingObjects(from, to).sweep({ before: 0, isInUse: async () => true });
  await expect(sweeping).rejects.toThrow("no room");
  expect(await openFilesBelow(folder)).toEqual([]);
  await rm(folder, { recursive: true });
});
