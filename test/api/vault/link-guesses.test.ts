import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPerson } from "../../support/vault/vault-person.ts";

// Guessing the password of a link: 10 guesses a minute from an address, 30 of a link. All requests come from loopback; where
// that is a trusted proxy, `X-Forwarded-For` decides the address.

describe.each([
  ["behind a trusted proxy", { CROFT_TRUSTED_PROXIES: "127.0.0.0/8" }],
  ["from a client that is no trusted proxy", { CROFT_TRUSTED_PROXIES: "none" }],
])("the password of a link, %s,", (_name, env) => {
  const isTrusted = env.CROFT_TRUSTED_PROXIES !== "none";
  let daemon: TestDaemon;
  let now = Date.UTC(2026, 10, 20, 9, 30);
  let download: string;
  let upload: string;

  beforeAll(async () => {
    daemon = await startTestDaemon({ clock: () => now, env });
    const owner = createPerson(daemon, "owner", "198.51.100.1");
    await owner.register();
    await owner.signIn();
    const body = new FormData();
    body.set("file", new File(["x"], "x.txt"));
    const { json } = await owner.request("/api/documents/upload", { method: "POST", body });
    const pathOf = async (link: Readonly<Record<string, unknown>>) => {
      const answer = await owner.request("/api/links", { json: { password: "pw", ...link } });
      expect(answer).toMatchObject({ status: 201 });
      return new URL(answer.json.url).pathname;
    };
    download = await pathOf({ document_id: json.id });
    upload = `${await pathOf({ kind: "upload" })}/unlock`;
  });
  afterAll(() => daemon[Symbol.asyncDispose]());
  // A new window for all limits.
  beforeEach(() => {
    now += 61_000;
  });

  async function guess(forwarded: string, password = "wrong", path = download): Promise<number> {
    const body = new FormData();
    body.set("password", password);
    const headers = { "X-Forwarded-For": forwarded };
    return (await daemon.request(path, { method: "POST", body, headers })).status;
  }

  const guessAtOnce = async (addresses: readonly string[], path = download) =>
    (await Promise.all(addresses.map((each) => guess(each, "wrong", path)))).toSorted();

  const refusedAfter = (allowed: number, all: number) => [
    ...Array<number>(allowed).fill(403),
    ...Array<number>(all - allowed).fill(429),
  ];

  test("is guessed 10 times a minute from an address, one after the other or at once", async () => {
    for (let at = 0; at < 10; at += 1) expect(await guess("192.0.2.1")).toBe(403);
    expect(await guess("192.0.2.1")).toBe(429);
    // The right password does not help either, nor another link.
    expect(await guess("192.0.2.1", "pw")).toBe(429);
    expect(await guess("192.0.2.1", "pw", upload)).toBe(429);
    now += 61_000;
    const addresses = Array<string>(25).fill("192.0.2.1");
    expect(await guessAtOnce(addresses, upload)).toEqual(refusedAfter(10, 25));
    now += 61_000;
    expect(await guess("192.0.2.1", "pw")).toBe(303);
  });

  test("is guessed from as many addresses as there are, not as headers name", async () => {
    const distinct = Array.from({ length: 45 }, (_, at) => `192.0.2.${at + 1}`);
    expect(await guessAtOnce(distinct)).toEqual(refusedAfter(isTrusted ? 30 : 10, 45));
    // A link is guessed 30 times, whoever asks.
    expect(await guess("192.0.2.99", "pw")).toBe(429);
  });

  test("is guessed 10 times by a client that forges hops before its own", async () => {
    const forged = Array.from({ length: 15 }, (_, at) => `198.51.100.${at + 2}, 203.0.113.7`);
    expect(await guessAtOnce(forged)).toEqual(refusedAfter(10, 15));
  });

  test("is guessed 10 times from one network of IPv6", async () => {
    const hosts = Array.from({ length: 15 }, (_, at) => `2001:db8:1:2::${at + 1}`);
    expect(await guessAtOnce(hosts)).toEqual(refusedAfter(10, 15));
  });
});
