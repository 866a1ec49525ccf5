import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { createTextExtractor } from "../../../../daemon/vault/analysis/text-extractor.ts";
import { createThumbnailDrawer } from "../../../../daemon/vault/thumbnails/thumbnail-drawer.ts";
import { SpooledTooLarge, withSpooledFile } from "../../../../storage/spool.ts";
import { toAccountId } from "../../../../storage/tables/vault/ids.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "croft-spool-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** A file whose storage tells no size and sends bytes without an end. */
const endless = () =>
  Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(1024 * 1024);
    })(),
  );

test("a file is written up to its bound, and a larger one is deleted without work", async () => {
  const folder = await makeFolder();
  const path = join(folder, "file");
  const sized = (bytes: number) =>
    withSpooledFile(Readable.from([Buffer.alloc(bytes)]), path, async (size) => size, {
      bytesMax: 10,
    });
  expect(await sized(10)).toBe(10);
  await expect(sized(11)).rejects.toBeInstanceOf(SpooledTooLarge);
  expect(await readdir(folder)).toEqual([]);
});

test("a file of a storage that sends bytes without an end is too large for its picture and its text", async () => {
  const tmp = await makeFolder();
  const deps = { tmp, newId: () => "one", program: [process.execPath] as const };
  const drawer = createThumbnailDrawer(deps);
  const extractor = createTextExtractor({ ...deps, recognizesText: false, clock: Date.now });
  onTestFinished(() => Promise.all([drawer.close(), extractor.close()]).then(() => undefined));
  const userId = toAccountId("ann");
  expect(await drawer.draw(endless(), userId)).toEqual({
    kind: "undrawable",
    reason: "too_large",
  });
  const file = { filename: "file", userId, signal: new AbortController().signal };
  expect(await extractor.extract({ ...file, content: endless() })).toEqual({
    kind: "unreadable",
    reason: "too_large",
  });
  expect(await readdir(tmp)).toEqual([]);
});
