import type { IncomingMessage } from "node:http";
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createDavSignIn } from "../../../../../daemon/vault/dav/credentials.ts";
import { makeMachineToken } from "../../../../../daemon/vault/accounts/machine-token-secret.ts";
import { badAccessToken } from "../../../../../daemon/vault/accounts/refusals.ts";
import type { ServerRequest } from "../../../../../daemon/http/handle.ts";
import { toAccountId } from "../../../../../storage/tables/vault/ids.ts";

const right = makeMachineToken(randomBytes);

function openScene() {
  const clock = { now: 0 };
  const looked: string[] = [];
  const counts = new Map<string, { used: number; endsAt: number }>();
  const signIn = createDavSignIn({
    clock: () => clock.now,
    requestsPerMinute: 5,
    limiter: {
      counts: true,
      addressKey: (address) => address,
      async consume(key, { max, seconds }) {
        const known = counts.get(key);
        const window =
          known === undefined || known.endsAt <= clock.now
            ? { used: 0, endsAt: clock.now + seconds * 1000 }
            : known;
        window.used += 1;
        counts.set(key, window);
        return {
          allowed: window.used <= max,
          remaining: Math.max(0, max - window.used),
          resetSeconds: Math.ceil((window.endsAt - clock.now) / 1000),
        };
      },
    },
    authentication: {
      async identify(token) {
        looked.push(token);
        if (token !== right) throw badAccessToken();
        return {
          ...{ userId: toAccountId("mira"), handle: "mira", email: "mira@example.org" },
          ...{ role: "user" as const, sessionId: undefined, address: "", account: {} as never },
        };
      },
    },
  });
  const ask = async (token: string, { address = "192.0.2.1", headers = {}, socket = {} } = {}) => {
    const request = {
      address,
      headers: {
        authorization: `Basic ${Buffer.from(`mira@example.org:${token}`).toString("base64")}`,
      },
    } as ServerRequest;
    const message = {
      headers,
      socket: { remoteAddress: "127.0.0.1", ...socket },
    } as IncomingMessage;
    return signIn.find(request, message).then(
      () => 200,
      (error: { status?: number }) => error.status,
    );
  };
  return { clock, looked, ask };
}

test("after ten wrong tokens in a minute an address waits, with the right one, too", async () => {
  const { clock, looked, ask } = openScene();
  expect(await ask(right)).toBe(200);
  for (let guess = 0; guess < 10; guess += 1)
    expect(await ask(makeMachineToken(randomBytes))).toBe(401);
  expect(await ask(makeMachineToken(randomBytes))).toBe(429);
  expect(await ask(right)).toBe(429);
  expect(looked).toHaveLength(11);
  expect(await ask(right, { address: "192.0.2.2" })).toBe(200);
  clock.now += 60_000;
  expect(await ask(right)).toBe(200);
});

test("a clock that is set back does not make an address wait for longer", async () => {
  const { clock, ask } = openScene();
  clock.now = 10_000_000;
  for (let guess = 0; guess < 10; guess += 1) await ask("wrong");
  clock.now = 0;
  expect(await ask(right)).toBe(200);
});

test("a password is never looked up", async () => {
  const { looked, ask } = openScene();
  expect(await ask("Correct-Horse-7-Battery")).toBe(401);
  expect(looked).toEqual([]);
});

test("limits the requests of an account in a minute", async () => {
  const { clock, ask } = openScene();
  for (let at = 0; at < 5; at += 1) expect(await ask(right)).toBe(200);
  expect(await ask(right)).toBe(429);
  clock.now += 60_000;
  expect(await ask(right)).toBe(200);
});

test("refuses a token that was readable on its way", async () => {
  const { ask } = openScene();
  const remote = { remoteAddress: "203.0.113.7" };
  expect(await ask(right, { socket: remote })).toBe(403);
  expect(await ask(right, { socket: { ...remote, encrypted: true } })).toBe(200);
  expect(await ask(right, { socket: remote, headers: { "x-forwarded-proto": "https" } })).toBe(200);
  expect(await ask(right, { headers: { "x-forwarded-proto": "http" } })).toBe(403);
  expect(await ask(right, { socket: { remoteAddress: "::ffff:127.0.0.1" } })).toBe(200);
});
