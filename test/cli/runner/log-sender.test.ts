import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLogSender } from "../../../cli/runner/report/log-sender.ts";

/** A daemon that stores rows by position, and the sender that talks to it. */
function createLog(answer: (call: number) => "lost" | "refused" | "stored" = () => "stored") {
  const stored: string[] = [];
  const lost: unknown[] = [];
  let isSealed = false;
  let calls = 0;
  const sender = createLogSender({
    clock: () => 0,
    sleep: () => setImmediate(),
    onLost: (error) => lost.push(error),
    async send(index, rows, isEnd) {
      await setImmediate();
      for (;;) {
        const outcome = answer((calls += 1));
        if (outcome === "refused") throw new Error("refused");
        stored.push(...rows.slice(stored.length - index).map(({ content }) => content));
        isSealed ||= isEnd;
        // After a lost response the same rows are sent again.
        if (outcome === "stored") return stored.length;
      }
    },
  });
  return { sender, stored, lost, isSealed: () => isSealed };
}

test("rows arrive once and in order, also when answers are lost", async () => {
  const log = createLog((call) => (call % 3 === 0 ? "lost" : "stored"));
  const rows = Array.from({ length: 10_000 }, (_, index) => `row ${index}`);
  for (const [index, row] of rows.entries()) {
    log.sender.add(row);
    if (index % 700 === 0) await setImmediate();
  }
  await log.sender.end();
  expect(log.stored).toEqual(rows);
  expect(log.isSealed()).toBe(true);
  expect(log.lost).toEqual([]);
});

test("an empty log is sealed", async () => {
  const log = createLog();
  await log.sender.end();
  expect(log.isSealed()).toBe(true);
});

test("a refused log is lost once, and releases the waiting writers", async () => {
  const log = createLog(() => "refused");
  log.sender.add("x".repeat(9 * 1024 * 1024));
  expect(log.sender.isFull).toBe(true);
  await log.sender.drained();
  log.sender.add("later");
  await log.sender.end();
  expect(log.stored).toEqual([]);
  expect(log.lost).toHaveLength(1);
});

test("a log whose rows are acknowledged but not kept is lost, not sent for ever", async () => {
  const lost: unknown[] = [];
  let calls = 0;
  const sender = createLogSender({
    clock: () => 0,
    sleep: () => setImmediate(),
    onLost: (error) => lost.push(error),
    async send() {
      await setImmediate();
      if ((calls += 1) > 100) throw new Error("sent a hundred times");
      return 0;
    },
  });
  sender.add("row");
  await sender.end();
  expect(lost).toEqual([new Error("the daemon keeps no rows of the log after 0")]);
});
