import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  hasFewValues,
  isSmall,
  OddMessage,
  splitLog,
} from "../../../../../daemon/forge/actions/protocol/wire-bounds.ts";
import { runnerService } from "../../../../../daemon/workflows/runner-messages.ts";

const { declare, updateLog, updateTask } = runnerService.method;

const toLog = (count: number, noMore = true) =>
  toBinary(
    updateLog.input,
    create(updateLog.input, {
      taskId: 7n,
      index: 5n,
      rows: Array.from({ length: count }, (_, at) => ({
        time: { seconds: BigInt(at), nanos: 0 },
        content: `row ${at}`,
      })),
      noMore,
    }),
  );

/** Empty rows, which take two bytes each. */
const toEmptyRows = (count: number) => Buffer.alloc(2 * count).fill(Buffer.from([0x1a, 0]));

test("a long report of a log is split into parts with all of its rows in their order", () => {
  const parts = splitLog(toLog(25_000)) ?? [];
  const decoded = parts.map(({ bytes }) => fromBinary(updateLog.input, bytes));
  expect(
    decoded.map(({ taskId, index, rows, noMore }) => [taskId, index, rows.length, noMore]),
  ).toEqual([
    [7n, 5n, 10_000, false],
    [7n, 10_005n, 10_000, false],
    [7n, 20_005n, 5_000, true],
  ]);
  expect(parts.map(({ rowsAfter }) => rowsAfter)).toEqual([10_005, 20_005, 25_005]);
  const contents = decoded.flatMap(({ rows }) => rows.map(({ content }) => content));
  expect(contents).toEqual(Array.from({ length: 25_000 }, (_, at) => `row ${at}`));
  expect(parts.every(({ bytes }) => isSmall(updateLog.input, bytes))).toBe(true);
});

test("a report of a log that is short is not split", () => {
  expect(splitLog(toLog(10_000))).toBeUndefined();
  expect(splitLog(Buffer.from([0x1a, 5]))).toBeUndefined();
});

test("of a report with millions of rows the first ones are taken, and the log is not ended", () => {
  const end = Buffer.from([0x20, 1]);
  const parts = splitLog(Buffer.concat([toEmptyRows(2_000_000), end])) ?? [];
  expect(parts.at(-1)?.rowsAfter).toBe(500_000);
  const last = fromBinary(updateLog.input, parts.at(-1)?.bytes ?? Buffer.alloc(0));
  expect(last).toMatchObject({ noMore: false, index: 490_000n });
});

test("attack: a message of many fields in few bytes is not decoded", () => {
  expect(isSmall(updateLog.input, toEmptyRows(100_001))).toBe(false);
  expect(isSmall(declare.input, Buffer.alloc(300_000).fill(Buffer.from([0x12, 0])))).toBe(false);
  const unknown = Buffer.alloc(300_000).fill(Buffer.from([0x7a, 0]));
  expect(isSmall(declare.input, unknown)).toBe(false);
  const steps = Buffer.alloc(300_000).fill(Buffer.from([0x2a, 0]));
  const length = [0x80 | (300_000 & 127), 0x80 | ((300_000 >> 7) & 127), 300_000 >> 14];
  const state = Buffer.concat([Buffer.from([0x0a, ...length]), steps]);
  expect(isSmall(updateTask.input, state)).toBe(false);
  expect(fromBinary(updateTask.input, state).state?.steps).toHaveLength(150_000);
  expect(hasFewValues(Buffer.from(`{"rows":[${"{},".repeat(25_000)}{}]}`))).toBe(false);
  expect(hasFewValues(Buffer.from(`{"rows":[${"{},".repeat(20_000)}{}]}`))).toBe(true);
  expect(hasFewValues(Buffer.from(`[${"[".repeat(50_000)}`))).toBe(false);
  expect(hasFewValues(Buffer.from(`[${"1,".repeat(50_000)}1]`))).toBe(false);
  const text = JSON.stringify({ outputs: { a: '\\"{},'.repeat(100_000) } });
  expect(hasFewValues(Buffer.from(text))).toBe(true);
});

test.each([
  ["rows as numbers", [0x18, 0]],
  ["a task id as a text", [0x0a, 0]],
])(
  "attack: %s, which the decoder may read in another way than they are counted, are refused",
  (_title, bytes) => {
    expect(() => splitLog(Buffer.from(bytes))).toThrow(OddMessage);
    expect(() => isSmall(updateLog.input, Buffer.from(bytes))).toThrow(OddMessage);
  },
);

test("attack: rows with other fields between them are refused", () => {
  const bytes = Buffer.concat([toEmptyRows(2), Buffer.from([0x08, 1]), toEmptyRows(2)]);
  expect(() => splitLog(bytes)).toThrow(OddMessage);
});
