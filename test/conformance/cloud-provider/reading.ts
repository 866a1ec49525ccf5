import { buffer } from "node:stream/consumers";
import { expect } from "vitest";
import { StreamAborted } from "../../../storage/cloud/outcomes.ts";
import type { Behaviour } from "../cloud-provider.suite.ts";
import { calm, get, mkdir, pattern, put, same, stat } from "./acting.ts";

const SIZE = 700_000;

/** Reading. */
export const readingBehaviours: readonly Behaviour[] = [
  {
    number: 12,
    title: "a whole download equals the bytes; an empty file works",
    async run({ provider, other }) {
      const bytes = pattern(SIZE);
      const file = await put(provider, "", "file.bin", bytes);
      const empty = await put(provider, "", "empty", "");
      same(await get(other, file.id), bytes);
      same(await get(other, empty.id), Buffer.alloc(0));
      expect((await stat(other, file.id)).size).toBe(SIZE);
    },
  },
  {
    number: 13,
    title: "ranges give exactly their bytes; behind the end is a range error",
    async run({ provider }) {
      const bytes = pattern(SIZE);
      const { id } = await put(provider, "", "file.bin", bytes);
      for (const [start, end] of [
        [0, 0],
        [SIZE - 1, SIZE - 1],
        [1000, 400_000],
        [0, SIZE - 1],
      ] as const)
        same(await get(provider, id, { range: { start, end } }), bytes.subarray(start, end + 1));
      same(await get(provider, id, { range: { start: SIZE - 5 } }), bytes.subarray(SIZE - 5));
      same(await get(provider, id, { range: { start: 10, end: SIZE * 2 } }), bytes.subarray(10));
      const beyond = await provider.read({ id, range: { start: SIZE }, signal: calm });
      expect(beyond).toMatchObject({ kind: "range_not_satisfiable", size: SIZE });
      const empty = await put(provider, "", "empty", "");
      const ofEmpty = await provider.read({ id: empty.id, range: { start: 0 }, signal: calm });
      expect(ofEmpty).toMatchObject({ kind: "range_not_satisfiable", size: 0 });
    },
  },
  {
    number: 14,
    title: "a server that ignores ranges or compresses still gives exactly the wanted bytes",
    needs: ["ignoreNextRange", "compress"],
    async run({ provider, faults }) {
      const bytes = pattern(SIZE);
      const { id } = await put(provider, "", "file.bin", bytes);
      faults.ignoreNextRange?.();
      same(await get(provider, id, { range: { start: 5, end: 99 } }), bytes.subarray(5, 100));
      faults.compress?.();
      same(await get(provider, id), bytes);
      same(await get(provider, id, { range: { start: 5, end: 99 } }), bytes.subarray(5, 100));
    },
  },
  {
    number: 15,
    title: "content that is replaced between two ranges is noticed",
    async run({ provider, overwrite }) {
      const { id } = await put(provider, "", "file.bin", pattern(SIZE, 1));
      const { version } = await stat(provider, id);
      same(
        await get(provider, id, { range: { start: 0, end: 9 }, version }),
        pattern(SIZE, 1).subarray(0, 10),
      );
      await overwrite(id, pattern(SIZE, 2));
      const again = await provider.read({
        id,
        range: { start: 10, end: 19 },
        version,
        signal: calm,
      });
      expect(again.kind).toBe("changed");
    },
  },
  {
    number: 16,
    title: "a body that is cut ends with an error, never as a short success",
    needs: ["cutNextBody"],
    async run({ provider, faults }) {
      const bytes = pattern(SIZE);
      const { id } = await put(provider, "", "file.bin", bytes);
      faults.cutNextBody?.(100_000);
      const outcome = await provider.read({ id, signal: calm });
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      await expect(buffer(outcome.stream)).rejects.toBeInstanceOf(StreamAborted);
      const { version } = await stat(provider, id);
      same(
        await get(provider, id, { range: { start: 100_000 }, version }),
        bytes.subarray(100_000),
      );
    },
  },
  {
    number: 17,
    title: "the version changes when bytes change, of the same size and in the same second, too",
    async run({ provider, overwrite }) {
      const { id } = await put(provider, "", "file.txt", "aaaa");
      const before = await stat(provider, id);
      await overwrite(id, Buffer.from("bbbb"));
      const after = await stat(provider, id);
      const isMarked = before.unsettled === true || after.unsettled === true;
      if (!isMarked) expect(after.version).not.toBe(before.version);
    },
  },
  {
    number: 18,
    title: "what has no bytes answers unsupported",
    async run({ provider }) {
      const folder = await mkdir(provider, "", "folder");
      const outcome = await provider.read({ id: folder.id, signal: calm });
      expect(["unsupported", "not_found"]).toContain(outcome.kind);
    },
  },
];
