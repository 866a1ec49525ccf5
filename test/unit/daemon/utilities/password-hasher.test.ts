import { hash } from "argon2";
import { describe, expect, test } from "vitest";
import { createPasswordHasher } from "../../../../daemon/utilities/password-hasher.ts";

describe("the password hasher", () => {
  test("makes argon2id hashes of the recommended cost, each with a salt of its own", async () => {
    const hasher = createPasswordHasher({ concurrency: 2, queueMax: 8 });
    const [one, other] = await Promise.all([hasher.hash("secret"), hasher.hash("secret")]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,/);
    expect(one).toMatch(/,?t=2/);
    expect(one).not.toBe(other);
    expect(await hasher.verify(one, "secret")).toEqual({ fits: true, outdated: false });
    expect(await hasher.verify(one, "Secret")).toEqual({ fits: false, outdated: false });
  });

  test("asks for a new hash when the stored one is cheaper", async () => {
    const hasher = createPasswordHasher({ concurrency: 1, queueMax: 8 });
    const cheap = await hash("secret", { memoryCost: 8192, timeCost: 2, parallelism: 1 });
    expect(await hasher.verify(cheap, "secret")).toEqual({ fits: true, outdated: true });
  });

  test("an account without a password matches no password, not even the decoy's", async () => {
    const hasher = createPasswordHasher({ concurrency: 1, queueMax: 8 });
    for (const password of ["", "secret", "no account has this password"])
      expect(await hasher.verify("", password)).toEqual({ fits: false, outdated: false });
  });

  test("refuses callers when the queue is full, and serves all others", async () => {
    const hasher = createPasswordHasher({ concurrency: 1, queueMax: 2 });
    const asked = await Promise.allSettled(Array.from({ length: 5 }, () => hasher.hash("secret")));
    const refused = asked.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({
      reason: { code: "unavailable", data: { retryAfterSeconds: 2 } },
    });
    expect(await hasher.hash("secret")).toMatch(/^\$argon2id/);
  });

  test("a hash that cannot be read gives its turn back", async () => {
    const hasher = createPasswordHasher({ concurrency: 1, queueMax: 0 });
    for (let round = 0; round < 3; round += 1)
      await expect(hasher.verify("$argon2id$broken", "secret")).rejects.toThrow();
    expect(await hasher.hash("secret")).toMatch(/^\$argon2id/);
  });
});
