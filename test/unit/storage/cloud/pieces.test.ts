import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { inPieces, WrongLength } from "../../../../storage/cloud/pieces.ts";
import { pattern } from "../../../conformance/cloud-provider/acting.ts";

async function cut(chunks: readonly Buffer[], pieceBytes: number, size?: number) {
  const pieces = [];
  for await (const piece of inPieces(Readable.from(chunks), pieceBytes, size)) pieces.push(piece);
  return pieces;
}

describe("pieces of a stream", () => {
  test.each([0, 1, 9, 10, 11, 20, 25])("%i bytes in tens, however they come", async (length) => {
    const bytes = pattern(length);
    for (const step of [1, 3, 10, 64]) {
      const chunks = [];
      for (let at = 0; at < length; at += step) chunks.push(bytes.subarray(at, at + step));
      const pieces = await cut(chunks, 10, length);
      expect(Buffer.concat(pieces.map((piece) => piece.bytes))).toEqual(bytes);
      expect(pieces.map(({ start }) => start)).toEqual(pieces.map((_, at) => at * 10));
      expect(pieces.map(({ isLast }) => isLast)).toEqual(
        pieces.map((_, at) => at === pieces.length - 1),
      );
      expect(pieces.length).toBe(Math.max(1, Math.ceil(length / 10)));
    }
  });

  test("the last one is held back until the source has kept its word", async () => {
    const ten = Buffer.alloc(10);
    const seen: boolean[] = [];
    const read = async (chunks: Buffer[], size: number) => {
      for await (const piece of inPieces(Readable.from(chunks), 10, size)) seen.push(piece.isLast);
    };
    await expect(read([ten, ten], 10)).rejects.toBeInstanceOf(WrongLength);
    await expect(read([ten], 20)).rejects.toBeInstanceOf(WrongLength);
    expect(seen).toEqual([]);
    expect((await cut([ten, ten], 10)).length).toBe(2);
  });

  test("the next one is read while one is sent, and no further", async () => {
    let read = 0;
    const source = Readable.from(
      (async function* () {
        for (; read < 10; read++) yield Buffer.alloc(10);
      })(),
      { highWaterMark: 1 },
    );
    for await (const piece of inPieces(source, 10, 100)) {
      await new Promise((done) => setImmediate(() => setImmediate(done)));
      const ahead = read - piece.start / 10;
      expect(ahead).toBeGreaterThanOrEqual(Math.min(2, 10 - piece.start / 10));
      expect(ahead).toBeLessThanOrEqual(5);
    }
  });

  test("a reader that stops does not wait for a stalled source", async () => {
    const stalled = new Readable({ read: () => undefined });
    stalled.push(Buffer.alloc(15));
    for await (const piece of inPieces(stalled, 10, undefined)) {
      expect(piece.start).toBe(0);
      break;
    }
    stalled.destroy();
  });

  test("the source's error comes as it was", async () => {
    const failing = Readable.from(
      (async function* () {
        yield Buffer.alloc(30);
        throw new Error("gone");
      })(),
    );
    const read = async () => {
      for await (const piece of inPieces(failing, 10, undefined)) expect(piece.isLast).toBe(false);
    };
    await expect(read()).rejects.toThrow("gone");
  });
});
