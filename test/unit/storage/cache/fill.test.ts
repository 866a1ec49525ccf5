import { hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { PassThrough, Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { startFill, type FillHelp } from "../../../../storage/cache/fill.ts";
import { readSmall } from "../../../../storage/cache/small-transfers.ts";

/** A file in memory whose nth write fails, and those after it while `isBroken`. */
function fakeFile(failAt: number, isBroken: () => boolean) {
  const content = Buffer.alloc(8 * 1024 * 1024);
  let writes = 0;
  const file = {
    async writev(parts: Uint8Array[], position: number) {
      writes += 1;
      if (writes === failAt || (writes > failAt && isBroken()))
        throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC", syscall: "write" });
      let at = position;
      for (const part of parts) {
        content.set(part, at);
        at += part.byteLength;
      }
      return { bytesWritten: at - position, buffers: parts };
    },
    async read(into: Uint8Array, offset: number, length: number, position: number) {
      into.set(content.subarray(position, position + length), offset);
      return { bytesRead: length, buffer: into };
    },
  };
  return file as unknown as FileHandle;
}

const bytes = Buffer.alloc(5 * 1024 * 1024, "croft ");

function* chunks(from: number, to: number) {
  for (let at = from; at < to; at += 100_000) yield bytes.subarray(at, Math.min(at + 100_000, to));
}

function help(more: Partial<FillHelp> = {}): FillHelp & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    bytesMax: Number.POSITIVE_INFINITY,
    unwrittenBytes: () => 2 * 1024 * 1024,
    windowBytes: () => 4 * 1024 * 1024,
    async rest(from, end) {
      asked.push(`rest ${from}`);
      return Readable.from(chunks(from, end === undefined ? bytes.length : end + 1), {
        objectMode: false,
      });
    },
    async makeRoom() {
      asked.push("make room");
    },
    ...more,
  };
}

const source = () => Readable.from(chunks(0, bytes.length), { objectMode: false });

describe("a disk that is full", () => {
  // Fails each write in order, until a run has fewer writes than that: every write is covered.
  for (const [name, isLasting] of [
    ["for a moment", false],
    ["for good", true],
  ] as const)
    test(`${name}: every reader gets all bytes, whichever write fails`, async () => {
      // The hash is of the bytes as received, whatever the file stores.
      const whole = { size: bytes.length, hash: hash("sha256", bytes) };
      for (let failAt = 1; ; failAt++) {
        const helping = help();
        const fill = startFill(
          fakeFile(failAt, () => isLasting),
          source(),
          bytes.length,
          helping,
        );
        const finished = fill.finished.then(
          (filled) => filled,
          () => "not kept",
        );
        const readers = [fill.read(undefined), fill.read({ start: 3_000_000, end: 3_000_099 })];
        const [all, part] = await Promise.all(readers.map((reader) => buffer(reader)));
        expect([all?.equals(bytes), part?.equals(bytes.subarray(3_000_000, 3_000_100))]).toEqual([
          true,
          true,
        ]);
        if (!helping.asked.includes("make room")) {
          expect(await finished).toEqual(whole);
          break;
        }
        // Readers may have everything before the last write is tried.
        expect(await finished).toEqual(isLasting ? "not kept" : whole);
      }
    });
});

test("attack: a file without a length is not written beyond the limit of the cache, but is still read", async () => {
  let written = 0;
  const file = {
    ...fakeFile(0, () => false),
    async writev(parts: Uint8Array[]) {
      const size = parts.reduce((sum, part) => sum + part.byteLength, 0);
      written += size;
      return { bytesWritten: size, buffers: parts };
    },
  } as unknown as FileHandle;
  const helping = help({ bytesMax: 1_000_000 });
  const fill = startFill(file, source(), undefined, helping);
  fill.finished.catch(() => undefined);
  const all = await buffer(fill.read(undefined));
  expect(all.equals(bytes)).toBe(true);
  await expect(fill.finished).rejects.toThrow("could not be written");
  expect(written).toBeLessThanOrEqual(1_000_000);
  expect(helping.asked).toHaveLength(1);
});

describe("readers", () => {
  test("a late reader reads bytes that have left memory from the disk", async () => {
    const fill = startFill(
      fakeFile(0, () => false),
      source(),
      bytes.length,
      help(),
    );
    await fill.finished;
    expect((await buffer(fill.read(undefined))).equals(bytes)).toBe(true);
    expect((await buffer(fill.read({ start: 1, end: 1 }))).equals(bytes.subarray(1, 2))).toBe(true);
  });

  test("readers of many transfers share one bound on memory and read from the disk earlier", async () => {
    const readsWith = async (windowBytes: number) => {
      let reads = 0;
      const content = fakeFile(0, () => false);
      const file = {
        ...content,
        read: (...given: Parameters<typeof content.read>) => {
          reads += 1;
          return content.read(...given);
        },
      } as unknown as FileHandle;
      const open = Promise.withResolvers<void>();
      const half = Readable.from(
        (async function* () {
          yield* chunks(0, 1_000_000);
          await open.promise;
        })(),
        { objectMode: false },
      );
      const fill = startFill(file, half, 1_000_000, help({ windowBytes: () => windowBytes }));
      while (fill.arrived < 1_000_000) await new Promise((done) => setImmediate(done));
      for (let round = 0; round < 5; round++) await new Promise((done) => setImmediate(done));
      expect((await buffer(fill.read({ start: 0, end: 999 }))).length).toBe(1000);
      open.resolve();
      await fill.finished;
      return reads;
    };
    expect(await readsWith(4 * 1024 * 1024)).toBe(0);
    expect(await readsWith(0)).toBeGreaterThan(0);
  });

  test("a stream is not resumed after an error that forbids it", async () => {
    const slow = Object.assign(new Error("too slow"), { isResumable: false });
    const dripping = () =>
      Readable.from(
        (async function* () {
          yield bytes.subarray(0, 10);
          throw slow;
        })(),
        { objectMode: false },
      );
    const helping = help();
    const fill = startFill(
      fakeFile(0, () => false),
      dripping(),
      100,
      helping,
    );
    fill.finished.catch(() => undefined);
    await expect(buffer(fill.read(undefined))).rejects.toThrow("too slow");
    const again = async () => dripping();
    await expect(readSmall(dripping(), 100, again)).rejects.toThrow("too slow");
    expect(helping.asked).toEqual([]);
  });

  test("all readers get an error that cannot be recovered", async () => {
    const broken = Readable.from(
      (async function* () {
        yield* chunks(0, 1_000_000);
        throw new Error("reset");
      })(),
      { objectMode: false },
    );
    const fill = startFill(
      fakeFile(0, () => false),
      broken,
      bytes.length,
      help({ rest: async () => undefined }),
    );
    fill.finished.catch(() => undefined);
    const reading = [fill.read(undefined), fill.read({ start: 900_000, end: 1_100_000 })].map(
      (one) => buffer(one),
    );
    for (const one of reading) await expect(one).rejects.toThrow("reset");
  });
});

describe("bytes that are sent", () => {
  const fillFrom = (stream: Readable, more: Partial<FillHelp> = {}) => {
    const fill = startFill(
      fakeFile(0, () => false),
      stream,
      bytes.length,
      help(more),
    );
    fill.finished.catch(() => undefined);
    return fill;
  };

  test("bytes that are sent are those of the span, also for a slow reader that reads from the disk in between", async () => {
    const fill = fillFrom(source(), { windowBytes: () => 300_000 });
    const spans = [
      undefined,
      { start: 99_999, end: 1_200_000 },
      { start: 4_999_999, end: 4_999_999 },
    ];
    for (const highWaterMark of [1, 100_000, 10_000_000]) {
      const sent = await Promise.all(
        spans.map(async (span) => {
          const to = new PassThrough({ highWaterMark });
          const all = buffer(to);
          await fill.send(span, to);
          to.end();
          return all;
        }),
      );
      for (const [index, span] of spans.entries()) {
        const wanted = bytes.subarray(span?.start ?? 0, (span?.end ?? bytes.length) + 1);
        expect(sent[index]?.equals(wanted)).toBe(true);
      }
    }
  });

  test("end with an error as soon as the reader leaves, whether it waits for bytes or is full", async () => {
    const pausing = new Readable({ read: () => undefined });
    pausing.push(bytes.subarray(0, 1000));
    const waiting = new PassThrough();
    const sending = fillFrom(pausing).send(undefined, waiting);
    waiting.once("data", () => waiting.destroy());
    await expect(sending).rejects.toThrow("closed before its end");
    pausing.destroy();

    const full = new Writable({ highWaterMark: 1, write: () => undefined });
    const sendingMore = fillFrom(source()).send(undefined, full);
    setImmediate(() => full.destroy(new Error("gone")));
    await expect(sendingMore).rejects.toThrow("closed before its end");

    const closed = new PassThrough().destroy();
    await expect(fillFrom(source()).send(undefined, closed)).rejects.toThrow(
      "closed before its end",
    );
    for (const stream of [waiting, full])
      expect([stream.listenerCount("drain"), stream.listenerCount("error")]).toEqual([0, 0]);
  });

  test("end with the error of the transfer", async () => {
    const broken = new Readable({ read: () => undefined });
    broken.push(bytes.subarray(0, 1000));
    const fill = fillFrom(broken, { rest: async () => undefined });
    const to = new PassThrough();
    to.once("data", () => broken.destroy(new Error("cut")));
    await expect(fill.send(undefined, to)).rejects.toThrow("cut");
  });
});
