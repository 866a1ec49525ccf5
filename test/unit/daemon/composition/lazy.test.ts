import { expect, test } from "vitest";
import { createLazy, createTaskRunner, toLazyTasks } from "../../../../daemon/composition/lazy.ts";
import type { Database } from "../../../../storage/engine/database.ts";

const { signal } = new AbortController();
const db = {} as Database;

function countedPart() {
  const counts = { opened: 0, closed: 0 };
  const part = createLazy(async () => {
    counts.opened += 1;
    if (counts.opened === 1 && failsFirst.value) throw new Error("no space");
    return { close: async () => void (counts.closed += 1) };
  });
  return { counts, part };
}
const failsFirst = { value: false };

test("a part is opened once for all that need it at the same time", async () => {
  const { counts, part } = countedPart();
  expect(part.opened).toBeUndefined();
  const [one, other] = await Promise.all([part.get(), part.get()]);
  expect(one).toBe(other);
  expect(part.opened).toBe(one);
  expect(counts.opened).toBe(1);
});

test("a part that could not be opened is opened by the next that needs it", async () => {
  failsFirst.value = true;
  const { counts, part } = countedPart();
  await expect(part.get()).rejects.toThrow("no space");
  await part.get();
  failsFirst.value = false;
  expect(counts.opened).toBe(2);
});

test("a part that is opening while the daemon stops is closed when it is open", async () => {
  const { counts, part } = countedPart();
  const opening = part.get();
  await part.close();
  await opening;
  expect(counts).toEqual({ opened: 1, closed: 1 });
  await expect(part.get()).rejects.toThrow("the daemon is stopping");
});

test("a part that was not needed is neither opened nor closed", async () => {
  const { counts, part } = countedPart();
  await part.close();
  expect(counts).toEqual({ opened: 0, closed: 0 });
});

test("a scheduled task opens its part only when it has something to do", async () => {
  const ran: string[] = [];
  let isNeeded = false;
  const part = { get: async () => ({ runTask: async (name: string) => void ran.push(name) }) };
  const declared = { name: "tidy", schedule: "@every 1m", isNeeded: async () => isNeeded };
  const [task] = toLazyTasks([declared], db, part);
  await task?.run(signal);
  expect(ran).toEqual([]);
  isNeeded = true;
  await task?.run(signal);
  expect(ran).toEqual(["tidy"]);
});

test("a declared task without code is refused when its part opens", () => {
  const declared = { name: "tidy", schedule: "@every 1m" };
  expect(() => createTaskRunner([declared], [])).toThrow("tidy has no code");
});
