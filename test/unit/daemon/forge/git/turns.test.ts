import { expect, test } from "vitest";
import { createTurns } from "../../../../../daemon/forge/git/turns.ts";
import type { AppError } from "../../../../../daemon/errors.ts";

const never = new AbortController().signal;

test("no more than so many go on at once, and the next comes when one ends", async () => {
  const turns = createTurns({ atOnce: 2, perKey: 2, waiting: 5 });
  const first = await turns.take("a", never);
  await turns.take("b", never);
  let isThird = false;
  const third = turns.take("c", never).then(() => (isThird = true));
  await Promise.resolve();
  expect(isThird).toBe(false);
  first();
  first();
  await third;
  expect(isThird).toBe(true);
});

test("one client cannot take all turns", async () => {
  const turns = createTurns({ atOnce: 3, perKey: 1, waiting: 5 });
  await turns.take("greedy", never);
  void turns.take("greedy", never);
  await turns.take("other", never);
});

test("who waits too long in too long a queue is refused, and who goes away leaves it", async () => {
  const turns = createTurns({ atOnce: 1, perKey: 1, waiting: 1 });
  const end = await turns.take("a", never);
  const gone = new AbortController();
  const waiting = turns.take("b", gone.signal);
  await expect(turns.take("c", never)).rejects.toMatchObject({
    code: "unavailable",
  } satisfies Partial<AppError>);
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  const next = turns.take("c", never);
  end();
  await next;
});
