import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createSignInAttempts,
  type SignInAttempts,
} from "../../../../../daemon/forge/accounts/sign-in-attempts.ts";
import { createLimiter } from "../../../../../daemon/http/limits.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

let db: Database;
/** Those of two daemons on one database. */
let one: SignInAttempts;
let two: SignInAttempts;

beforeEach(async () => {
  db = await openTestDatabase({ clock: () => 1_000_000 });
  one = createSignInAttempts(createLimiter({ db, clock: () => 1_000_000 }));
  two = createSignInAttempts(createLimiter({ db, clock: () => 1_000_000 }));
});
afterEach(() => db.close());

const ADDRESS = "192.0.2.1";
const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

/** Guesses at a daemon, whose checks end together when `decide` is called. */
function guess(at: SignInAttempts, count: number, isRight: boolean) {
  const decided = Promise.withResolvers<void>();
  let checks = 0;
  const check = async () => {
    checks += 1;
    await decided.promise;
    return isRight ? "right" : undefined;
  };
  return {
    outcomes: Promise.all(
      times(count, () =>
        at.password("id 1", ADDRESS, { check }).then(
          (right) => right ?? "wrong",
          (error: Error & { code: string }) => error.code,
        ),
      ),
    ),
    checks: () => checks,
    decide: decided.resolve,
  };
}

describe("guesses of a password", () => {
  test("that are right are not refused for right ones that another daemon is checking", async () => {
    const first = guess(one, 10, true);
    await expect.poll(first.checks).toBe(10);
    const second = guess(two, 30, true);
    second.decide();
    // A look at the limit finds nothing decided.
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(second.checks()).toBe(0);
    first.decide();
    expect(await first.outcomes).toEqual(times(10, () => "right"));
    expect(await second.outcomes).toEqual(times(30, () => "right"));
  });

  test("that are right succeed beside nine wrong ones, at two daemons", async () => {
    const wrong = guess(one, 9, false);
    wrong.decide();
    await wrong.outcomes;
    const right = [guess(one, 20, true), guess(two, 20, true)];
    for (const each of right) each.decide();
    for (const each of right) expect(await each.outcomes).toEqual(times(20, () => "right"));
  });

  test("that wait for wrong ones at another daemon are refused unchecked", async () => {
    const first = guess(one, 10, false);
    await expect.poll(first.checks).toBe(10);
    const second = guess(two, 30, true);
    second.decide();
    first.decide();
    expect(await first.outcomes).toEqual(times(10, () => "wrong"));
    expect(await second.outcomes).toEqual(times(30, () => "rate_limited"));
    expect(second.checks()).toBe(0);
  });

  test("that are wrong are at most ten at two daemons", async () => {
    const both = [guess(one, 60, false), guess(two, 60, false)];
    for (const each of both) each.decide();
    const outcomes = (await Promise.all(both.map((each) => each.outcomes))).flat();
    expect(outcomes.filter((each) => each === "wrong")).toHaveLength(10);
    expect(outcomes.filter((each) => each === "rate_limited")).toHaveLength(110);
  });

  test("that cannot be checked do not count", async () => {
    const check = () => Promise.reject(new Error("the queue is full"));
    for (let n = 0; n < 20; n += 1)
      await expect(one.password("id 1", ADDRESS, { check })).rejects.toThrow("the queue is full");
    expect(await two.password("id 1", ADDRESS, { check: async () => "right" })).toBe("right");
  });

  test("share the running check of the same guess at a limit", async () => {
    const first = guess(one, 10, true);
    await expect.poll(first.checks).toBe(10);
    const shared = Promise.withResolvers<string | undefined>();
    const eleventh = one.password("id 1", ADDRESS, {
      check: () => Promise.reject(new Error("it is checked already")),
      shared: () => shared.promise,
    });
    shared.resolve("right");
    expect(await eleventh).toBe("right");
    first.decide();
    await first.outcomes;
  });
});

describe("guesses of a code", () => {
  test("that are wrong are at most ten at two daemons, and right ones wait for right ones", async () => {
    const right = await Promise.all(
      times(40, (index) =>
        (index % 2 === 0 ? one : two).code(1 as never, ADDRESS, async () => true),
      ),
    );
    expect(right).toEqual(times(40, () => true));
    const wrong = await Promise.allSettled(
      times(60, (index) =>
        (index % 2 === 0 ? one : two).code(1 as never, ADDRESS, async () => false),
      ),
    );
    expect(wrong.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  });
});
