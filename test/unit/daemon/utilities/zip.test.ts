import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { fromBufferPromise, type Entry } from "yauzl";
import { createZip, type ZipEntry } from "../../../../daemon/utilities/zip.ts";

const entry = (name: string, content: string, size: number | undefined): ZipEntry => ({
  name,
  modifiedAt: Date.UTC(2026, 10, 28, 9, 30, 8),
  open: async () => ({ stream: Readable.from([Buffer.from(content)]), size }),
});

/** Reads an archive with another implementation. */
async function unzip(archive: Buffer) {
  const zip = await fromBufferPromise(archive, { lazyEntries: true });
  const files: { name: string; text: string; at: number }[] = [];
  for await (const each of zip.eachEntry() as AsyncIterable<Entry>) {
    const stream = await zip.openReadStreamPromise(each);
    const at = each.getLastModDate({ timezone: "UTC" }).getTime();
    files.push({ name: each.fileName, text: (await buffer(stream)).toString(), at });
  }
  return files;
}

test("an archive has the files under free names, also those whose size is known only at the end", async () => {
  const archive = createZip([
    entry("a.txt", "one", 3),
    entry("A.txt", "two", undefined),
    entry("ü/..\\x", "", 0),
  ]);
  const at = Date.UTC(2026, 10, 28, 9, 30, 8);
  expect(await unzip(await buffer(archive))).toEqual([
    { name: "a.txt", text: "one", at },
    { name: "A (1).txt", text: "two", at },
    { name: "ü_.._x", text: "", at },
  ]);
});

test("an archive of more files than its old form counts is in the large one", async () => {
  const entries = Array.from({ length: 65_536 }, (_, at) => entry(`${at}`, "", 0));
  const zip = await fromBufferPromise(await buffer(createZip(entries)), { lazyEntries: true });
  expect(zip.entryCount).toBe(65_536);
});

test("an archive fails when a file is shorter than it said", async () => {
  await expect(buffer(createZip([entry("a", "one", 4)]))).rejects.toThrow(
    "a file of 4 bytes has 3",
  );
});
