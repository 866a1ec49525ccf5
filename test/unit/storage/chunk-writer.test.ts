import type { FileHandle } from "node:fs/promises";
import { expect, test } from "vitest";
import { createChunkWriter } from "../../../storage/chunk-writer.ts";

/** A file in memory whose calls end when they are told to; `bytesMax` of one call is what a full pipe would take. */
function createFile({ bytesMax = Infinity, error }: { bytesMax?: number; error?: Error } = {}) {
  const bytes: number[] = [];
  const calls: number[] = [];
  const pending: (() => void)[] = [];
  const put = async (chunk: Uint8Array, position: number) => {
    const length = Math.min(chunk.byteLength, bytesMax);
    for (let at = 0; at < length; at += 1) bytes[position + at] = chunk[at] ?? 0;
    return { bytesWritten: length };
  };
  const file = {
    async writev(chunks: readonly Uint8Array[], position: number) {
      calls.push(chunks.length);
      await new Promise<void>((resolve) => pending.push(resolve));
      if (error !== undefined) throw error;
      return put(Buffer.concat(chunks), position);
    },
    write: (chunk: Uint8Array, offset: number, length: number, position: number) =>
      put(chunk.subarray(offset, offset + length), position),
  } as unknown as FileHandle;
  return {
    file,
    calls,
    text: () => Buffer.from(bytes).toString(),
    finish: () => pending.shift()?.(),
  };
}

/** Whether a promise has settled after all that is ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

test("eight chunks go with one call, and of those that arrive meanwhile the eighth waits", async () => {
  const { file, calls, text, finish } = createFile();
  const writer = createChunkWriter(file, 0);
  const writes = Array.from("0123456789abcdef", (each) => writer.write(Buffer.from(each)));
  expect(await isSettled(Promise.all(writes.slice(0, 15)))).toBe(true);
  const last = writes[15] ?? Promise.resolve();
  expect(await isSettled(last)).toBe(false);
  finish();
  await last;
  const flushed = writer.flush();
  expect(await isSettled(flushed)).toBe(false);
  finish();
  await flushed;
  expect(calls).toEqual([8, 8]);
  expect(text()).toBe("0123456789abcdef");
});

test("chunks of one turn are written by one call, and later ones when it ends, without another call", async () => {
  const { file, calls, text, finish } = createFile();
  const writer = createChunkWriter(file, 0);
  for (const chunk of ["a", "b"]) await writer.write(Buffer.from(chunk));
  await isSettled(Promise.resolve());
  for (const chunk of ["c", "d", "e"]) await writer.write(Buffer.from(chunk));
  finish();
  await isSettled(Promise.resolve());
  expect(calls).toEqual([2, 3]);
  finish();
  await isSettled(Promise.resolve());
  expect(text()).toBe("abcde");
});

test("a call that takes a part of the bytes is continued where it ended", async () => {
  const { file, text, finish } = createFile({ bytesMax: 3 });
  const writer = createChunkWriter(file, 2);
  await writer.write(Buffer.from("abcdefgh"));
  await writer.write(Buffer.from("ij"));
  await writer.write(Buffer.from("klmno"));
  const flushed = writer.flush();
  finish();
  await isSettled(flushed);
  finish();
  await flushed;
  expect(text()).toBe("\0\0abcdefghijklmno");
});

test("the error of a write is thrown by the next call, and by each after it", async () => {
  const { file, finish } = createFile({ error: new Error("no room") });
  const writer = createChunkWriter(file, 0);
  await writer.write(Buffer.from("a"));
  const flushed = writer.flush();
  finish();
  await expect(flushed).rejects.toThrow("no room");
  await expect(writer.write(Buffer.from("b"))).rejects.toThrow("no room");
  await expect(writer.flush()).rejects.toThrow("no room");
});
