import { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  createStreamLimiter,
  createTransferLimiter,
  STALLS_MAX,
  toWatched,
  type TransferClient,
} from "../../../../../daemon/forge/repositories/transfer-limiter.ts";
import type { GitProcess } from "../../../../../storage/git/git.ts";
import type { AppError } from "../../../../../daemon/errors.ts";

const unused = () => undefined;
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

test("a stream with a slow reader leaves its slot to others, and takes it back when it is read", async () => {
  const one = { ...limits, atOnce: 1, perClient: 1 };
  const open = { atOnce: 3, perClient: 3, anonymous: 3, waiting: 0, waitingPerClient: 0 };
  const limiter = createStreamLimiter({ work: one, open, checkMs: 1 });
  const slot = await limiter.acquireStream(account(1), never);
  onTestFinished(() => slot.release());
  let bytes = 0;
  let isWaiting = true;
  const advance = () => (bytes += 64 * 1024);
  let rate = advance;
  slot.watch({
    patience: () => (isWaiting ? STALLS_MAX : undefined),
    bytes: () => rate(),
    stop: unused,
  });
  let isNext = false;
  const next = limiter.acquire(account(2), never).then((release) => {
    isNext = true;
    return release;
  });
  const looks = async (count: number) => {
    const until = bytes + count * 64 * 1024;
    await vi.waitFor(() => expect(bytes).toBeGreaterThan(until), { timeout: 60_000 });
  };
  await looks(3);
  expect(isNext).toBe(false);
  rate = () => bytes;
  const release = await next;
  rate = advance;
  await looks(2);
  release();
  expect(await isFree(limiter, account(3))).toBe(false);
  isWaiting = false;
  rate = () => bytes;
  expect(await isFree(limiter, account(3))).toBe(false);
  slot.release();
  slot.release();
  expect(await isFree(limiter, account(3))).toBe(true);
});

test("open streams are limited in total and for each client, and those that wait hold no place", async () => {
  const open = { atOnce: 2, perClient: 1, anonymous: 1, waiting: 1, waitingPerClient: 1 };
  const limiter = createStreamLimiter({ work: limits, open });
  const first = await limiter.acquireStream(account(1), never);
  const second = limiter.acquireStream(account(1), never);
  await expect(limiter.acquireStream(account(1), never)).rejects.toMatchObject({
    code: "unavailable",
  });
  const gone = AbortSignal.abort(new Error("gone"));
  await expect(limiter.acquireStream(account(2), gone)).rejects.toThrow("gone");
  (await limiter.acquireStream(anonymous("192.0.2.1"), never)).release();
  first.release();
  (await second).release();
});

test("a stream that is read slower than 64 KiB a minute is stopped", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const isStopped = async (bytesPerMinute: number, minutes: number, isWaiting = true) => {
    const slot = await createStreamLimiter({ work: limits, open: limits }).acquireStream(
      account(1),
      never,
    );
    let [bytes, stops] = [0, 0];
    slot.watch({
      patience: () => (isWaiting ? STALLS_MAX : undefined),
      bytes: () => bytes,
      stop: () => void (stops += 1),
    });
    for (let minute = 0; minute < minutes; minute++) {
      bytes += bytesPerMinute;
      vi.advanceTimersByTime(60_000);
    }
    slot.release();
    expect(vi.getTimerCount()).toBe(0);
    return stops > 0;
  };
  expect(await isStopped(0, 2)).toBe(true);
  expect(await isStopped(64 * 1024 - 1, 2)).toBe(true);
  expect(await isStopped(64 * 1024, 20)).toBe(false);
  expect(await isStopped(0, 20, false)).toBe(false);
});

test("a push over SSH that sends a byte a minute gives its place to others and is stopped after ten minutes", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const one = { ...limits, atOnce: 1, perClient: 1 };
  /** A git whose client sends and whose output grows by these bytes a minute. */
  const isStopped = async ({ sent, written }: { sent: number; written: number }) => {
    const limiter = createStreamLimiter({ work: one, open: limits });
    const slot = await limiter.acquireStream(account(1), never);
    let [bytesWritten, bytesRead] = [0, 0];
    const stdin = Object.defineProperty(new Socket(), "bytesWritten", { get: () => bytesWritten });
    const stdout = Object.defineProperty(new Socket(), "bytesRead", { get: () => bytesRead });
    let isOver = false;
    const child = { stdin, stdout, stop: () => void (isOver = true) };
    const body = new PassThrough();
    slot.watch(toWatched(child as unknown as GitProcess, { body, isConversation: true }));
    vi.advanceTimersByTime(20_000);
    const isPlaceFree = await isFree(limiter, account(2));
    for (let minute = 0; minute < 11; minute += 1) {
      bytesWritten += sent;
      bytesRead += written;
      vi.advanceTimersByTime(5_000);
      bytesRead += written;
      vi.advanceTimersByTime(55_000);
    }
    slot.release();
    return { isOver, isPlaceFree };
  };
  expect(await isStopped({ sent: 1, written: 0 })).toEqual({ isOver: true, isPlaceFree: true });
  expect((await isStopped({ sent: 64 * 1024, written: 0 })).isOver).toBe(false);
  expect((await isStopped({ sent: 0, written: 1 })).isOver).toBe(false);
});
