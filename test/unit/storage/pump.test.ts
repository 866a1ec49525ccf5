import { randomBytes } from "node:crypto";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { createBufferPool, pump } from "../../../storage/pump.ts";

async function openFile(bytes: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), "croft-pump-"));
  await writeFile(join(folder, "file"), bytes);
  const handle = await open(join(folder, "file"));
  return {
    handle,
    async [Symbol.asyncDispose]() {
      await handle.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** A stream that holds each chunk for some ticks and only then copies it, as a slow client's socket does. */
function slowSink(ticks: number): { readonly sink: Writable; readonly taken: () => Buffer } {
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      let left = ticks;
      const later = () => {
        if (left-- > 0) {
          setImmediate(later);
          return;
        }
        chunks.push(Buffer.from(chunk));
        done();
      };
      later();
    },
  });
  return { sink, taken: () => Buffer.concat(chunks) };
}

describe("a file that is pumped", () => {
  test.each([
    [0, 0],
    [5, 131_071],
    [131_072, 262_143],
    [1, 999_999],
    [0, 999_999],
  ])("gives exactly bytes %d to %d, although its buffers are used again", async (start, end) => {
    const bytes = randomBytes(1_000_000);
    await using file = await openFile(bytes);
    const { sink, taken } = slowSink(3);
    await pump(file.handle, { start, end }, sink, createBufferPool());
    expect(taken().equals(bytes.subarray(start, end + 1))).toBe(true);
    expect(sink.listenerCount("close") + sink.listenerCount("error")).toBe(0);
  });

  test("many at once do not get into each other's buffers", async () => {
    const pool = createBufferPool();
    const files = await Promise.all(
      Array.from({ length: 20 }, () => openFile(randomBytes(600_000))),
    );
    for (let round = 0; round < 3; round++) {
      const sinks = files.map((_file, at) => slowSink(at % 5));
      await Promise.all(
        files.map(({ handle }, at) =>
          pump(handle, { start: 0, end: 599_999 }, sinks[at]!.sink, pool),
        ),
      );
      for (const [at, { handle }] of files.entries()) {
        const wanted = Buffer.alloc(600_000);
        await handle.read(wanted, 0, wanted.length, 0);
        expect(sinks[at]?.taken().equals(wanted)).toBe(true);
      }
    }
    for (const file of files) await file[Symbol.asyncDispose]();
  });

  test("many readers get smaller buffers, and returned buffers are reused", () => {
    const pool = createBufferPool();
    const taken = Array.from({ length: 100 }, () => pool.take());
    const bytes = taken.reduce((sum, { length }) => sum + length, 0);
    expect(bytes).toBeLessThan(21 * 1024 * 1024);
    const [first, second] = taken;
    for (const buffer of taken) pool.give(buffer, buffer !== first);
    const again = Array.from({ length: 100 }, () => pool.take());
    expect(again).toContain(second);
    // All large ones, which are taken first: those that are dropped stay in memory until garbage is collected.
    const large = taken.filter(({ length }) => length > 64 * 1024);
    expect(again.filter((buffer) => large.includes(buffer))).toHaveLength(large.length - 1);
    // A reader may still use it.
    expect(again).not.toContain(first);
    expect(again.reduce((sum, { length }) => sum + length, 0)).toBe(bytes);
  });

  test("a disconnecting client ends it", async () => {
    await using file = await openFile(randomBytes(2_000_000));
    const sink = new Writable({ write: () => setImmediate(() => sink.destroy()) });
    await expect(
      pump(file.handle, { start: 0, end: 1_999_999 }, sink, createBufferPool()),
    ).rejects.toThrow();
    await expect(pump(file.handle, { start: 0, end: 1 }, sink, createBufferPool())).rejects.toThrow(
      "closed",
    );
  });

  test("a file that has become shorter is an error", async () => {
    await using file = await openFile(randomBytes(1000));
    const { sink } = slowSink(0);
    await expect(
      pump(file.handle, { start: 0, end: 5000 }, sink, createBufferPool()),
    ).rejects.toThrow("shorter");
  });
});
