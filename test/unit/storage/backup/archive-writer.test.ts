import { createHash } from "node:crypto";
import { extract } from "tar-stream";
import { expect, test } from "vitest";
import { createArchiveWriter } from "../../../../storage/backup/archive-writer.ts";
import { encodeTarHeader } from "../../../../storage/backup/tar-header.ts";

const attributes = { mode: 0o640, mtime: new Date("2020-02-03T04:05:06.000Z") };

/** Writes files, the last of them with the hashes of the others, and returns the archive. */
async function write(files: readonly (readonly [name: string, content: string])[]) {
  const chunks: Buffer[] = [];
  const archive = createArchiveWriter({
    async write(block) {
      chunks.push(Buffer.from(block));
    },
  });
  const lines = files.map(([name, content]) => {
    const hash = createHash("sha256").update(content).digest("hex");
    return `${hash}  ${name}\n`;
  });
  try {
    for (const [name, content] of [...files, ["MANIFEST.sha256", lines.join("")] as const]) {
      const bytes = Buffer.from(content);
      await archive.header({ name, size: bytes.byteLength, ...attributes });
      await archive.append(bytes);
      await archive.pad(bytes.byteLength);
    }
    const size = await archive.end();
    return { size, bytes: Buffer.concat(chunks) };
  } finally {
    await archive.close();
  }
}

const whole = [
  ["backup.json", "{}"],
  ["croft.db", "rows"],
] as const;

test("reads back what it writes, over more blocks than are held at once", async () => {
  const large = ["packages/large", "0123456789abcdef".repeat(800_000)] as const;
  const { size, bytes } = await write([...whole, large]);
  expect(bytes.byteLength).toBe(size);
  expect(bytes.includes(large[1])).toBe(true);
});

test.each([
  ["has no database", [whole[0]], "it has no croft.db"],
  [
    "holds a file that no backup holds",
    [...whole, ["keys/master.key", "key"] as const],
    "it holds",
  ],
])("refuses an archive that %s", async (_what, files, message) => {
  await expect(write(files)).rejects.toMatchObject({
    code: "corrupt",
    message: expect.stringContaining(message) as string,
  });
});

test("refuses an archive whose entry is shorter than its header says", async () => {
  const archive = createArchiveWriter({ write: async () => undefined });
  try {
    await archive.header({ name: "backup.json", size: 5_000, ...attributes });
    await expect(archive.end()).rejects.toMatchObject({ code: "corrupt" });
  } finally {
    await archive.close();
  }
});

test.each([
  ["a plain name", "packages/a", 3],
  ["a folder", "files/in/", 0],
  ["100 characters", `files/${"n".repeat(94)}`, 1],
  ["101 characters", `files/${"n".repeat(95)}`, 1],
  ["a name that is not ASCII", "files/\u00e9\u{1f680}", 1],
  ["a line end", "files/new\nline", 1],
  ["a name whose record has one digit more with its length", `files/${"n".repeat(985)}`, 1],
  ["the largest size of eleven digits", "croft.db", 8 ** 11 - 1],
  ["a size of 8 GiB", "croft.db", 8 ** 11],
])("encodes the header of %s", async (_what, name, size) => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const entries = extract().on("entry", resolve);
  entries.write(encodeTarHeader({ name, size, ...attributes }));
  const type = name.endsWith("/") ? "directory" : "file";
  expect(await promise).toMatchObject({ name, size, type, uid: 0, gid: 0, ...attributes });
});
