import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { toLogAnswer, toLogRange } from "../../../../../daemon/forge/actions/actions.view.ts";
import { createLogs } from "../../../../../daemon/forge/actions/runners/logs.service.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { toTaskId } from "../../../../../storage/tables/forge/ids.ts";

const CHUNKS = 1_000;
const ROWS = 10;

/** A database with one log of 10,000 rows of 10 kB, in chunks of ten rows. Counts the chunks that are read. */
function createLogDatabase() {
  let reads = 0;
  const get = async (_sql: string, _task: number, row: number) => {
    const firstRow = Math.floor(row / ROWS) * ROWS;
    if (firstRow >= CHUNKS * ROWS) return undefined;
    reads += 1;
    const rows = Array.from(
      { length: ROWS },
      (_, at) => `${firstRow + at} ${"x".repeat(10_000)}\n`,
    );
    return { first_row: firstRow, row_count: ROWS, content: gzipSync(rows.join(""), { level: 1 }) };
  };
  const masks = { mask: async () => ({ rows: [], sealedMasks: undefined }) };
  const logs = createLogs({ db: { get } as unknown as Database, masks });
  return { logs, reads: () => reads };
}

const open = (query: { from_row: number; rows: number }) => {
  const { logs, reads } = createLogDatabase();
  const answer = toLogAnswer({
    name: "ci-a-1.log",
    rows: logs.read(toTaskId(1), toLogRange(query)),
  });
  return { answer, reads };
};

test("a log of 100 MB that a client reads slowly is read chunk by chunk, and no further once it is closed", async () => {
  const { answer, reads } = open({ from_row: 0, rows: 0 });
  const stream = await answer.bytes.open();
  const iterator = stream[Symbol.asyncIterator]();
  const chunks = 50;
  let bytes = 0;
  while (bytes < chunks * 100_000) {
    const { value } = await iterator.next();
    bytes += (value as Buffer).byteLength;
    // Chunks that were read ahead: one in the stream's buffer, and one on its way there.
    expect(reads() - bytes / 100_000).toBeLessThan(4);
  }
  stream.destroy();
  const after = reads();
  await new Promise((resolve) => setImmediate(resolve));
  expect(reads()).toBeLessThanOrEqual(after + 1);
  expect(after).toBeLessThan(chunks + 4);
});

test.each([
  [0, 0, 0, 10_000],
  [9_999, 0, 9_999, 1],
  [10_000, 0, 0, 0],
  [5, 3, 5, 3],
  [5, 10, 5, 10],
  [20, 10, 20, 10],
  [7_995, 20_000, 7_995, 2_005],
  [-4, 2, 0, 2],
])("a log from row %i with %i rows begins at %i and has %i", async (from, rows, first, count) => {
  const { answer, reads } = open({ from_row: from, rows });
  const numbers: number[] = [];
  let rest = "";
  for await (const chunk of await answer.bytes.open()) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    numbers.push(...lines.map((line) => Number(line.split(" ", 1)[0])));
  }
  expect([rest, numbers.length, numbers[0] ?? 0]).toEqual(["", count, first]);
  expect(numbers).toEqual(Array.from({ length: count }, (_, at) => first + at));
  // Only chunks of the range are read.
  expect(reads()).toBe(
    count === 0 ? 0 : Math.ceil((first + count) / ROWS) - Math.floor(first / ROWS),
  );
});

test("a log that cannot be read fails before its head is sent", async () => {
  const get = async () => ({ first_row: 0, row_count: 1, content: Buffer.from("no gzip") });
  expect(() => gunzipSync(Buffer.from("no gzip"))).toThrow();
  const masks = { mask: async () => ({ rows: [], sealedMasks: undefined }) };
  const logs = createLogs({ db: { get } as unknown as Database, masks });
  const answer = toLogAnswer({
    name: "ci-a-1.log",
    rows: logs.read(toTaskId(1), toLogRange({ from_row: 0, rows: 0 })),
  });
  await expect(answer.bytes.open()).rejects.toThrow();
});
