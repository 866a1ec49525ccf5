import { createHash } from "node:crypto";
import { Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { describe, expect, test, vi } from "vitest";
import type { ObjectStore, ObjectStream } from "../../storage/objects/object-store.ts";
import type { ObjectDamage } from "../../storage/objects/verified-reads.ts";

/** A store under test with its surroundings. */
export interface ObjectStoreSubject extends AsyncDisposable {
  readonly store: ObjectStore;
  /** The store of another daemon over the same objects; the same store if only one daemon is possible. */
  readonly other: ObjectStore;
  /** Epoch milliseconds by the daemon's clock. */
  now(): number;
  /** Makes every object older. */
  age(ms: number): Promise<void>;
  /** Copies of an object, however it is kept. */
  copies(sha256: string): Promise<number>;
  /** Lists the staging files and other unfinished objects. */
  waiting(): Promise<readonly string[]>;
  /** Flips one bit in the middle of every copy of an object. */
  damage(sha256: string): Promise<void>;
  /** The SHA-256 of every copy that was moved to quarantine. */
  quarantined(): Promise<readonly string[]>;
  /** The damages that the stores have reported so far. */
  readonly damages: readonly ObjectDamage[];
}

export interface ObjectStoreSuiteOptions {
  /** Lengths around which the store takes another way. */
  readonly sizes: readonly number[];
  open(): Promise<ObjectStoreSubject>;
}

const DAY_MS = 86_400_000;

/** Puts bytes in, and gives their name. */
export async function putObject(store: ObjectStore, bytes: Uint8Array): Promise<string> {
  const writer = await store.create();
  try {
    for (let at = 0; at < bytes.length; at += 100_000)
      await writer.write(bytes.subarray(at, at + 100_000));
    const { sha256 } = await writer.seal();
    await writer.publish();
    return sha256;
  } finally {
    await writer.discard();
  }
}

/** The bytes of an object or of a part of it; undefined when it cannot be had. */
export async function readObject(
  store: ObjectStore,
  ...args: Parameters<ObjectStore["open"]>
): Promise<Buffer | undefined> {
  const opened = await store.open(...args);
  return opened && buffer(opened);
}

/** Writes an object to a stream as a response does: by `sendTo` where the object has it. */
async function sendAll(stream: ObjectStream | undefined, to: Writable): Promise<void> {
  if (stream === undefined) throw new Error("the object is missing");
  if (stream.sendTo === undefined) await pipeline(stream, to, { end: false });
  else await stream.sendTo(to);
}

/** A stream that copies what it gets, because buffers are reused. */
function createSink(): { readonly sink: Writable; readonly taken: () => Buffer } {
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { sink, taken: () => Buffer.concat(chunks) };
}

/** Bytes that differ from place to place. */
export function someBytes(size: number, seed = "x"): Buffer {
  const blocks = Array.from({ length: Math.ceil(size / 64) }, (_, at) =>
    createHash("sha512").update(`${seed} ${at}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, size);
}

/** A copy of `bytes` with one bit in the middle flipped. */
export function flipBit(bytes: Uint8Array): Buffer {
  const flipped = Buffer.from(bytes);
  const middle = Math.floor(flipped.length / 2);
  flipped[middle] = (flipped[middle] ?? 0) ^ 1;
  return flipped;
}

/** The contract of `ObjectStore`: whatever keeps the objects runs all of it. */
export function objectStoreSuite(name: string, { sizes, open }: ObjectStoreSuiteOptions): void {
  describe(`objects ${name}`, () => {
    test.each(sizes)("%i bytes are read back unchanged, whole and in part", async (size) => {
      await using subject = await open();
      const { store, other } = subject;
      const bytes = someBytes(size);
      const sha256 = await putObject(store, bytes);
      expect(sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
      for (const one of [store, other, other]) {
        expect((await readObject(one, sha256, size))?.equals(bytes)).toBe(true);
        if (size === 0) continue;
        for (const [start, end] of [
          [0, 0],
          [0, size - 1],
          [size - 1, size - 1],
          [Math.floor(size / 2), size - 1],
          [Math.floor(size / 3), Math.floor((size * 2) / 3)],
        ] as const) {
          const part = await readObject(one, sha256, size, { start, end });
          expect(part?.equals(bytes.subarray(start, end + 1)), `${start}-${end}`).toBe(true);
        }
      }
      expect(await subject.waiting()).toEqual([]);
    });

    test("the digests are those of the bytes", async () => {
      await using subject = await open();
      const writer = await subject.store.create();
      await writer.write(Buffer.from("hello "));
      await writer.write(Buffer.from("world"));
      expect(writer.size).toBe(11);
      const digest = (algorithm: string) =>
        createHash(algorithm).update("hello world").digest("hex");
      expect(await writer.seal()).toEqual({
        size: 11,
        sha256: digest("sha256"),
        sha512: digest("sha512"),
        sha1: digest("sha1"),
        md5: digest("md5"),
      });
      await writer.discard();
    });

    test("an object that is missing, has another size or an invalid name is not found", async () => {
      await using subject = await open();
      const sha256 = await putObject(subject.store, Buffer.from("bytes"));
      for (const store of [subject.store, subject.other]) {
        expect(await store.open("0".repeat(64), 5)).toBeUndefined();
        expect(await store.open(sha256, 4)).toBeUndefined();
        expect(await store.open(sha256, 6, { start: 0, end: 2 })).toBeUndefined();
        for (const name of ["", "../../croft.db", sha256.toUpperCase(), `${sha256}/`, "é"])
          expect(await store.open(name, 5)).toBeUndefined();
        expect((await readObject(store, sha256, 5))?.toString()).toBe("bytes");
      }
    });

    test("bytes that are discarded before or after they are sealed leave nothing", async () => {
      await using subject = await open();
      const [early, late] = [await subject.store.create(), await subject.store.create()];
      for (const writer of [early, late]) await writer.write(Buffer.from("never"));
      const { sha256 } = await late.seal();
      for (const writer of [early, late, late]) await writer.discard();
      expect(await subject.waiting()).toEqual([]);
      expect(await subject.copies(sha256)).toBe(0);
      await expect(late.publish()).rejects.toThrow("only sealed bytes");
    });

    test("a stream that is closed early blocks nothing", async () => {
      await using subject = await open();
      const bytes = someBytes(1_000_000);
      const sha256 = await putObject(subject.store, bytes);
      for (let time = 0; time < 3; time += 1) {
        const stream = await subject.store.open(sha256, bytes.length);
        if (time > 0) for await (const _chunk of stream ?? []) break;
        stream?.destroy();
      }
      expect((await readObject(subject.store, sha256, bytes.length))?.equals(bytes)).toBe(true);
    });

    test("the sweep deletes only old and unused objects", async () => {
      await using subject = await open();
      const { store } = subject;
      const [used, old] = [
        await putObject(store, Buffer.from("used")),
        await putObject(store, Buffer.from("old!!")),
      ];
      await subject.age(2 * DAY_MS);
      const young = await putObject(store, Buffer.from("young"));
      const asked: string[] = [];
      const isInUse = async (sha256: string) => (asked.push(sha256), sha256 === used);
      const before = subject.now() - DAY_MS;
      expect(await store.sweep({ before, isInUse })).toEqual({ objects: 1, bytes: 5 });
      // The result for young objects is not specified.
      expect(asked.toSorted()).toEqual([used, old].toSorted());
      expect(await readObject(store, old, 5)).toBeUndefined();
      expect((await readObject(store, used, 4))?.toString()).toBe("used");
      expect((await readObject(subject.other, young, 5))?.toString()).toBe("young");
      expect(await store.sweep({ before, isInUse })).toEqual({ objects: 0, bytes: 0 });
    });

    test("equal bytes are kept once in the long run, and being published makes them young", async () => {
      await using subject = await open();
      const { store, other } = subject;
      const bytes = Buffer.from("the same");
      const sha256 = await putObject(store, bytes);
      await subject.age(2 * DAY_MS);
      await putObject(other, bytes);
      const sweep = (isUsed: boolean) =>
        store.sweep({ before: subject.now() - DAY_MS, isInUse: async () => isUsed });
      await sweep(false);
      expect(await subject.copies(sha256)).toBe(1);
      expect(await readObject(store, sha256, 8)).toEqual(bytes);
      await putObject(store, bytes);
      await subject.age(2 * DAY_MS);
      await sweep(true);
      expect(await subject.copies(sha256)).toBe(1);
      expect(await readObject(other, sha256, 8)).toEqual(bytes);
      await sweep(false);
      expect(await subject.copies(sha256)).toBe(0);
      expect(await readObject(other, sha256, 8)).toBeUndefined();
    });

    test("a sweep that found old bytes unused keeps them when they are published again meanwhile", async () => {
      await using subject = await open();
      const { store, other } = subject;
      const bytes = Buffer.from("wanted again");
      const sha256 = await putObject(store, bytes);
      await subject.age(2 * DAY_MS);
      let publishing: Promise<unknown> | undefined;
      await store.sweep({
        before: subject.now() - DAY_MS,
        async isInUse() {
          publishing = putObject(other, bytes);
          // One daemon alone lets the one wait for the other.
          if (other !== store) await publishing;
          return false;
        },
      });
      await publishing;
      for (const one of [store, other]) expect(await readObject(one, sha256, 12)).toEqual(bytes);
    });

    test("concurrent sweeps of two daemons leave one copy of a used object", async () => {
      await using subject = await open();
      const { store, other } = subject;
      const names = [];
      for (const text of ["a", "b", "c", "a", "b", "a"])
        names.push(await putObject(store, Buffer.from(text)));
      await subject.age(2 * DAY_MS);
      const before = subject.now() - DAY_MS;
      await Promise.all(
        [store, other].map((one) => one.sweep({ before, isInUse: async () => true })),
      );
      for (const sha256 of names) {
        expect(await subject.copies(sha256)).toBe(1);
        for (const one of [store, other]) expect(await readObject(one, sha256, 1)).toBeDefined();
      }
    });

    test("sends a large object whole, again, and in parts, as reading does", async () => {
      await using subject = await open();
      const bytes = someBytes(3_000_000);
      const sha256 = await putObject(subject.store, bytes);
      for (const [range, wanted] of [
        [undefined, bytes],
        [undefined, bytes],
        [{ start: 10, end: 2_000_000 }, bytes.subarray(10, 2_000_001)],
        [{ start: 2_999_999, end: 2_999_999 }, bytes.subarray(2_999_999)],
      ] as const) {
        const { sink, taken } = createSink();
        const stream = await subject.store.open(sha256, bytes.length, range);
        let ended = 0;
        stream?.once("end", () => (ended += 1));
        await sendAll(stream, sink);
        expect(taken().equals(wanted)).toBe(true);
        // Who hears it knows that the object was sent whole.
        expect(ended).toBe(1);
        await vi.waitFor(() => expect(stream?.closed).toBe(true), { timeout: 60_000 });
      }
    });

    test("closes an object whose reader leaves while it is sent", async () => {
      await using subject = await open();
      const bytes = someBytes(3_000_000);
      const sha256 = await putObject(subject.store, bytes);
      for (let round = 0; round < 2; round += 1) {
        const sink = new Writable({ write: () => setImmediate(() => sink.destroy()) });
        const stream = await subject.store.open(sha256, bytes.length);
        await expect(sendAll(stream, sink)).rejects.toThrow();
        await vi.waitFor(() => expect(stream?.closed).toBe(true), { timeout: 60_000 });
      }
      expect(await readObject(subject.store, sha256, bytes.length)).toEqual(bytes);
    });

    describe("an object with a flipped bit", () => {
      const SMALL = 5_000;
      /** Larger than objects that are verified in memory before the first byte is returned. */
      const LARGE = 3_000_000;

      test("an object with a flipped bit is not found when it is small, and moves to quarantine", async () => {
        await using subject = await open();
        const sha256 = await putObject(subject.store, someBytes(SMALL));
        await subject.damage(sha256);
        expect(await subject.store.open(sha256, SMALL)).toBeUndefined();
        expect(await subject.quarantined()).toEqual([sha256]);
        expect(await subject.copies(sha256)).toBe(0);
        expect(subject.damages).toEqual([{ sha256, size: SMALL, outcome: "quarantined" }]);
        expect(await subject.store.open(sha256, SMALL)).toBeUndefined();
        expect(subject.damages).toHaveLength(1);
      });

      test("ends in an error before its last bytes when it is large", async () => {
        await using subject = await open();
        const sha256 = await putObject(subject.store, someBytes(LARGE));
        await subject.damage(sha256);
        let received = 0;
        const reading = async () => {
          for await (const chunk of (await subject.store.open(sha256, LARGE)) ?? [])
            received += (chunk as Buffer).length;
        };
        await expect(reading()).rejects.toThrow("does not match its SHA-256");
        expect(received).toBeLessThan(LARGE);
        expect(await subject.quarantined()).toEqual([sha256]);
        expect(await subject.store.open(sha256, LARGE)).toBeUndefined();
      });

      test("is sent without its last bytes when it is large, although it was sent whole before", async () => {
        await using subject = await open();
        const sha256 = await putObject(subject.store, someBytes(LARGE));
        await sendAll(await subject.store.open(sha256, LARGE), createSink().sink);
        await subject.damage(sha256);
        const { sink, taken } = createSink();
        const stream = await subject.store.open(sha256, LARGE);
        await expect(sendAll(stream, sink)).rejects.toThrow("does not match its SHA-256");
        expect(taken().length).toBeLessThan(LARGE);
        expect(await subject.quarantined()).toEqual([sha256]);
      });

      test("gives out no part, not even one without the damage", async () => {
        await using subject = await open();
        for (const size of [SMALL, LARGE]) {
          const sha256 = await putObject(subject.store, someBytes(size));
          await subject.damage(sha256);
          const range = { start: 0, end: 9 };
          const opened = await Promise.all(
            [range, range, range].map((each) => subject.store.open(sha256, size, each)),
          );
          expect(opened).toEqual([undefined, undefined, undefined]);
          expect(await subject.quarantined()).toContain(sha256);
        }
        expect(subject.damages).toHaveLength(2);
      });

      test("an object with a flipped bit is noticed although a part of it was verified and given out before", async () => {
        await using subject = await open();
        const sha256 = await putObject(subject.store, someBytes(SMALL));
        const range = { start: 0, end: 9 };
        expect(await readObject(subject.store, sha256, SMALL, range)).toHaveLength(10);
        await subject.damage(sha256);
        expect(await subject.store.open(sha256, SMALL, range)).toBeUndefined();
      });

      test("an object with a flipped bit is repaired by publishing the same bytes again", async () => {
        await using subject = await open();
        const bytes = someBytes(SMALL);
        const sha256 = await putObject(subject.store, bytes);
        await subject.damage(sha256);
        expect(await subject.store.open(sha256, SMALL)).toBeUndefined();
        await putObject(subject.store, bytes);
        for (const one of [subject.store, subject.other])
          expect(await readObject(one, sha256, SMALL)).toEqual(bytes);
      });

      test("stays in quarantine when the sweep runs", async () => {
        await using subject = await open();
        const sha256 = await putObject(subject.store, someBytes(SMALL));
        await subject.damage(sha256);
        await subject.store.open(sha256, SMALL);
        await subject.age(2 * DAY_MS);
        await subject.store.sweep({
          before: subject.now() - DAY_MS,
          isInUse: async () => false,
        });
        expect(await subject.quarantined()).toEqual([sha256]);
      });
    });

    test("a sweep stops when it is aborted", async () => {
      await using subject = await open();
      await putObject(subject.store, Buffer.from("a"));
      await putObject(subject.store, Buffer.from("b"));
      await subject.age(2 * DAY_MS);
      const stop = new AbortController();
      const sweeping = subject.store.sweep({
        before: subject.now() - DAY_MS,
        isInUse: async () => (stop.abort(), true),
        signal: stop.signal,
      });
      await expect(sweeping).rejects.toThrow("aborted");
    });
  });
}
