import { expect, test } from "vitest";
import { createTransferLimiter } from "../../../../../daemon/forge/git/transfer-limiter.ts";
import type { AppError } from "../../../../../daemon/errors.ts";

const never = new AbortController().signal;

test("no more than so many go on at once, and the next comes when one ends", async () => {
  const limiter = createTransferLimiter({ atOnce: 2, perKey: 2, waiting: 5 });
  const first = await limiter.acquire("a", never);
  await limiter.acquire("b", never);
  let isThird = false;
  const third = limiter.acquire("c", never).then(() => (isThird = true));
  await Promise.resolve();
  expect(isThird).toBe(false);
  first();
  first();
  await third;
  expect(isThird).toBe(true);
});

test("one client cannot take all turns", async () => {
  const limiter = createTransferLimiter({ atOnce: 3, perKey: 1, waiting: 5 });
  await limiter.acquire("greedy", never);
  void limiter.acquire("greedy", never);
  await limiter.acquire("other", never);
});

test("a transfer that waits too long is refused, and a disconnected one leaves the queue", async () => {
  const limiter = createTransferLimiter({ atOnce: 1, perKey: 1, waiting: 1 });
  const end = await limiter.acquire("a", never);
  const gone = new AbortController();
  const waiting = limiter.acquire("b", gone.signal);
  await expect(limiter.acquire("c", never)).rejects.toMatchObject({
    code: "unavailable",
  } satisfies Partial<AppError>);
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  const next = limiter.acquire("c", never);
  end();
  await next;
});
