import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { createPerson } from "../support/vault/vault-person.ts";

// The clock of the machine is set forth and back while a daemon runs: what it wrote by the wrong time must not wait for it.

const DAY_MS = 86_400_000;
/** The longest interval of a scheduled task. */
const LONGEST_MS = 7 * DAY_MS;

let daemon: TestDaemon;
let receiver: Receiver;
let ahead = 0;
const now = () => Date.now() + ahead;
const people = createForgePeople(() => daemon);
const { api, by } = people;

beforeAll(async () => {
  receiver = await startReceiver();
  daemon = await startTestDaemon({ clock: now });
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const nextRuns = async () =>
  (
    (await api("GET", "/admin/cron?limit=50")).json as {
      name: string;
      schedule: string;
      next: string;
    }[]
  )
    .filter(({ schedule }) => schedule !== "-")
    .map(({ name, next }) => [name, Date.parse(next) - now()] as const);

test.each([
  ["a day", DAY_MS],
  ["a year", 365 * DAY_MS],
])(
  "a clock that goes %s forth and back leaves tasks, jobs, sessions, tokens and limits in their times",
  async (length, jump) => {
    const name = length.replace("a ", "");
    const mira = createPerson(daemon, `mira-${name}`, "198.51.100.1");
    await mira.register();
    await mira.signIn({ remember_me: true });
    await people.newUser(`noor-${name}`);
    const repo = await people.newRepository(`noor-${name}`);
    const path = `/repos/noor-${name}/${repo}`;
    const ran = async () =>
      ((await api("GET", "/admin/cron?limit=50")).json as { exec_times: number }[]).map(
        ({ exec_times: times }) => times,
      );
    const before = await ran();

    ahead += jump;
    // Each task catches up once, and is due again within its interval.
    await vi.waitFor(async () => {
      for (const [task, inMs] of await nextRuns()) {
        expect([task, inMs > -5_000]).toEqual([task, true]);
        expect([task, inMs <= LONGEST_MS]).toEqual([task, true]);
      }
    }, 20_000);
    const after = await ran();
    for (const [index, times] of after.entries())
      expect(times - (before[index] ?? 0)).toBeLessThan(3);
    expect((await mira.request("/api/documents")).status).toBe(401);
    await mira.signIn();
    expect((await mira.request("/api/documents")).status).toBe(200);
    const hook = { type: "gitea", events: ["issues"], active: true };
    const config = { url: receiver.url, content_type: "json" };
    expect((await by(`noor-${name}`, "POST", `${path}/hooks`, { ...hook, config })).status).toBe(
      201,
    );
    await by(`noor-${name}`, "POST", `${path}/issues`, { title: "by the wrong clock" });
    for (let at = 0; at < 12; at += 1) await guess(`nobody-${name}`);
    expect((await guess(`nobody-${name}`)).status).toBe(429);

    ahead -= jump;
    await vi.waitFor(async () => {
      for (const [task, inMs] of await nextRuns())
        expect([task, inMs <= LONGEST_MS]).toEqual([task, true]);
    }, 20_000);
    await by(`noor-${name}`, "POST", `${path}/issues`, { title: "by the right clock" });
    await vi.waitFor(() => {
      const titles = receiver.received.map(({ body }) => JSON.parse(body).issue?.title);
      expect(titles).toEqual(expect.arrayContaining(["by the wrong clock", "by the right clock"]));
    }, 20_000);
    // A token of the future is not valid yet; its session renews it.
    expect((await mira.request("/api/documents")).status).toBe(401);
    expect((await mira.refresh()).status).toBe(200);
    expect((await mira.request("/api/documents")).status).toBe(200);
    expect((await by(`noor-${name}`, "GET", "/user")).status).toBe(200);
    // Each limit, of the address and of the account, ends a window after it is met, not when the clock is there again.
    for (const [minutes, status] of [
      [0, 429],
      [2, 429],
      [18, 401],
    ] as const) {
      ahead += minutes * 60_000;
      expect((await guess(`nobody-${name}`)).status).toBe(status);
    }
    await vi.waitFor(
      async () => expect((await daemon.request("/readyz")).json).toMatchObject({ status: "ready" }),
      20_000,
    );
  },
);

const guess = (handle: string) =>
  daemon.request("/api/auth/login", {
    headers: { "X-Forwarded-For": "198.51.100.9" },
    json: { email: `${handle}@example.org`, password: "not-the-password" },
  });
