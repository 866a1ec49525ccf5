import { afterAll, beforeAll, expect, test } from "vitest";
import type { Compute } from "../../../../daemon/forge/compute.ts";
import { createProcessorShares } from "../../../../daemon/jobs/processor-shares.ts";
import { matchPush } from "../../../../daemon/workflows/triggers.ts";
import { readSource, readSources } from "../../../architecture/source-tree.ts";
import { createTestCompute } from "../../../support/forge/compute.ts";

/** A filter of hard patterns, none of which matches, and many long paths. */
const hard = {
  filters: { paths: Array.from({ length: 200 }, (_, at) => `${"*a".repeat(120)}${at}`) },
  pushed: {
    ref: "refs/heads/main",
    paths: Array.from({ length: 60 }, (_, at) => `${"a".repeat(240)}-${at}`),
  },
};
const easy = {
  filters: { paths: ["docs/**"] },
  pushed: { ref: "refs/heads/main", paths: ["docs/a"] },
};

let compute: Compute;
beforeAll(() => {
  compute = createTestCompute();
});
afterAll(() => compute.close());

test("a cheap call gives its result", async () => {
  expect(await compute.run(matchPush, easy, "1")).toEqual({ kind: "done", value: true });
});

test("an expensive call leaves the event loop to other work", async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const outcome = await compute.run(matchPush, hard, "1");
  clearInterval(timer);
  expect(outcome).toEqual({ kind: "done", value: false });
  // The work takes seconds, and a loop that does it makes no turn meanwhile.
  expect(turns).toBeGreaterThan(20);
});

test("a call that uses up its budget says so, and the next one of the account runs", async () => {
  const strict = createTestCompute({ budgetMs: 1 });
  expect(await strict.run(matchPush, hard, "1")).toEqual({
    kind: "exceeded",
    reason: "too much time",
  });
  expect(await strict.run(matchPush, easy, "1")).toEqual({ kind: "done", value: true });
  await strict.close();
});

test("a call after the end of the threads is refused as unavailable", async () => {
  const closed = createTestCompute();
  await closed.close();
  await expect(closed.run(matchPush, hard, "1")).rejects.toMatchObject({ code: "unavailable" });
});

test("an account that has used up its share is refused in words until time has passed, and others are not", async () => {
  let now = 1_000_000;
  const shares = createProcessorShares({ clock: () => now, shareMs: 50, periodMs: 500_000 });
  const shared = createTestCompute({ shares });
  for (let calls = 0; ; calls += 1) {
    const refusal = await shared.run(matchPush, hard, "1").then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refusal === undefined) {
      // One call may be told as finished before its use is booked.
      expect(calls).toBeLessThan(3);
      continue;
    }
    expect(refusal).toMatchObject({ code: "rate_limited" });
    expect(String(refusal)).toMatch(/processor time in .* minutes.* Try again in \d+ seconds/);
    break;
  }
  expect(await shared.run(matchPush, easy, "1")).toMatchObject({ kind: "done" });
  expect(await shared.run(matchPush, hard, "2")).toMatchObject({ kind: "done" });
  now += 3_600_000_000;
  expect(await shared.run(matchPush, hard, "1")).toMatchObject({ kind: "done" });
  await shared.close();
});

test("the threads have every function that the daemon calls", () => {
  const called = readSources(["daemon"]).flatMap(({ text }) =>
    [...text.matchAll(/compute\.run\(\s*(\w+)/g)].map(([, name = ""]) => name),
  );
  const worker = readSource("daemon/composition/compute.worker.ts").text;
  const [, list = ""] = /const functions[^=]*= \[(.*?)\];/s.exec(worker) ?? [];
  expect(called).toContain("maskRows");
  expect(called.filter((name) => !list.toLowerCase().includes(name.toLowerCase()))).toEqual([]);
});
