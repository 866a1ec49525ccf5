import { expect, test } from "vitest";
import { createTurnEnd } from "../../../../daemon/http/turn-end.ts";

test("those who wait in one turn go on together, behind all work of that turn", async () => {
  const turnEnd = createTurnEnd();
  const seen: string[] = [];
  const answer = async (name: string) => {
    seen.push(`worked on ${name}`);
    await turnEnd();
    seen.push(`sent ${name}`);
  };
  await Promise.all([answer("a"), Promise.resolve().then(() => answer("b"))]);
  expect(seen).toEqual(["worked on a", "worked on b", "sent a", "sent b"]);
});

test("what comes while they go on waits for the next end", async () => {
  const turnEnd = createTurnEnd();
  const first = turnEnd();
  await first;
  const second = turnEnd();
  expect(second).not.toBe(first);
  await second;
});
