import { expect, test } from "vitest";
import {
  createTransferLimiter,
  type TransferClient,
} from "../../../../../daemon/forge/git/transfer-limiter.ts";
import type { AppError } from "../../../../../daemon/errors.ts";

const never = new AbortController().signal;
const limits = { atOnce: 3, perClient: 2, anonymous: 2, waiting: 5, waitingPerClient: 3 };
const account = (id: number): TransferClient => ({ caller: { user: { id } }, address: "::1" });
const anonymous = (address: string): TransferClient => ({ caller: undefined, address });

/** Returns whether a slot is free for a client, without keeping it. */
async function isFree(
  limiter: ReturnType<typeof createTransferLimiter>,
  client: TransferClient,
): Promise<boolean> {
  const gone = new AbortController();
  const acquired = limiter.acquire(client, gone.signal).then(
    (release) => {
      release();
      return true;
    },
    () => false,
  );
  await Promise.resolve();
  setImmediate(() => gone.abort(new Error("gone")));
  return acquired;
}

test("limits concurrent transfers, and starts the next when one ends", async () => {
  const limiter = createTransferLimiter({ ...limits, atOnce: 2 });
  const first = await limiter.acquire(account(1), never);
  await limiter.acquire(account(2), never);
  let isThird = false;
  const third = limiter.acquire(account(3), never).then(() => (isThird = true));
  await Promise.resolve();
  expect(isThird).toBe(false);
  first();
  first();
  await third;
  expect(isThird).toBe(true);
});

test("one client cannot take all slots", async () => {
  const limiter = createTransferLimiter({ ...limits, perClient: 1 });
  await limiter.acquire(account(1), never);
  void limiter.acquire(account(1), never);
  await limiter.acquire(account(2), never);
});

test("the addresses of one IPv6 network are one client", async () => {
  const limiter = createTransferLimiter({ ...limits, perClient: 1 });
  await limiter.acquire(anonymous("2001:db8::1"), never);
  expect(await isFree(limiter, anonymous("2001:db8::ffff:2"))).toBe(false);
  expect(await isFree(limiter, anonymous("2001:db8:0:1::1"))).toBe(true);
});

test("anonymous clients leave slots for accounts", async () => {
  const limiter = createTransferLimiter(limits);
  const first = await limiter.acquire(anonymous("192.0.2.1"), never);
  await limiter.acquire(anonymous("192.0.2.2"), never);
  expect(await isFree(limiter, anonymous("192.0.2.3"))).toBe(false);
  expect(await isFree(limiter, account(1))).toBe(true);
  first();
  expect(await isFree(limiter, anonymous("192.0.2.3"))).toBe(true);
});

test("one client cannot fill the queue", async () => {
  const limiter = createTransferLimiter({ ...limits, atOnce: 1 });
  await limiter.acquire(account(1), never);
  for (let waiting = 0; waiting < limits.waitingPerClient; waiting += 1)
    void limiter.acquire(account(1), never);
  await expect(limiter.acquire(account(1), never)).rejects.toMatchObject({ code: "unavailable" });
  void limiter.acquire(account(2), never);
  void limiter.acquire(account(2), never);
  await expect(limiter.acquire(account(3), never)).rejects.toMatchObject({ code: "unavailable" });
});

test("a transfer that waits too long is refused, and a disconnected one leaves the queue", async () => {
  const limiter = createTransferLimiter({ ...limits, atOnce: 1, waiting: 1 });
  const end = await limiter.acquire(account(1), never);
  const gone = new AbortController();
  const waiting = limiter.acquire(account(2), gone.signal);
  await expect(limiter.acquire(account(3), never)).rejects.toMatchObject({
    code: "unavailable",
  } satisfies Partial<AppError>);
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  const next = limiter.acquire(account(3), never);
  end();
  await next;
});
