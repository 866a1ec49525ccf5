import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { replaceFile } from "../../../../storage/cloud/replacing.ts";
import { createLocks } from "../../../../storage/locks.ts";
import { createMemoryStorage } from "../../../support/cloud/memory-provider.ts";

const { signal } = new AbortController();
const deps = { home: "home1", newId: () => "0123456789ab", locks: createLocks() };

async function withFile() {
  const storage = createMemoryStorage();
  const provider = storage.connect();
  const made = await upload(provider, "a.txt", "one");
  if (made.kind !== "ok") throw new Error(made.kind);
  return { storage, provider, item: made.item };
}

const upload = (
  provider: ReturnType<ReturnType<typeof createMemoryStorage>["connect"]>,
  name: string,
  text: string,
) =>
  provider.upload({
    parent: "",
    name,
    content: Readable.from([Buffer.from(text)]),
    size: undefined,
    contentType: undefined,
    signal,
  });

const replacement = (id: string, etag: string | undefined, text = "two") => ({
  id,
  expected: { etag },
  content: Readable.from([Buffer.from(text)]),
  size: undefined,
  contentType: undefined,
  signal,
});

async function namesIn(provider: ReturnType<ReturnType<typeof createMemoryStorage>["connect"]>) {
  const listed = await provider.list({ folder: "", signal });
  return listed.kind === "ok" ? listed.items.map(({ name }) => name) : listed.kind;
}

test("replaces a file of a provider without a replace operation by an upload, a delete and a rename", async () => {
  const { provider, item } = await withFile();
  const replaced = await replaceFile(provider, replacement(item.id, item.etag), deps);
  if (replaced.kind !== "ok") throw new Error(replaced.kind);
  expect(replaced.item.name).toBe("a.txt");
  const read = await provider.read({ id: replaced.item.id, signal });
  if (read.kind !== "ok") throw new Error(read.kind);
  expect(String(Buffer.concat((await Array.fromAsync(read.stream)) as Buffer[]))).toBe("two");
  expect(await namesIn(provider)).toEqual(["a.txt"]);
});

test("refuses another version and a missing file before anything is uploaded", async () => {
  const { storage, provider, item } = await withFile();
  const uploads = storage.calls.filter((verb) => verb === "upload").length;
  const content = replacement(item.id, "other");
  expect(await replaceFile(provider, content, deps)).toEqual({ kind: "stale" });
  expect(content.content.destroyed).toBe(true);
  expect(await replaceFile(provider, replacement("none", undefined), deps)).toEqual({
    kind: "stale",
  });
  expect(storage.calls.filter((verb) => verb === "upload")).toHaveLength(uploads);
});

test("removes the new bytes when the file changes during the upload", async () => {
  const { provider, item } = await withFile();
  const changing = {
    ...provider,
    delete: (input: Parameters<typeof provider.delete>[0]) =>
      input.id === item.id ? Promise.resolve({ kind: "stale" } as const) : provider.delete(input),
  };
  expect(await replaceFile(changing, replacement(item.id, item.etag), deps)).toEqual({
    kind: "stale",
  });
  expect(await namesIn(provider)).toEqual(["a.txt"]);
});

test("keeps the new bytes under the temporary name when the last step fails", async () => {
  const { provider, item } = await withFile();
  const failing = {
    ...provider,
    rename: () => Promise.resolve({ kind: "offline", sent: true } as const),
  };
  expect(await replaceFile(failing, replacement(item.id, item.etag), deps)).toMatchObject({
    kind: "unknown_outcome",
  });
  expect(await namesIn(provider)).toEqual(["a.txt.croft-home1-0123456789ab"]);
});
