import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

const DAY = 86_400_000;
const HEAD =
  "id,created_at,event_type,user_id,user_handle,user_email,actor_id,actor_handle,resource_id,ip_address,metadata";

let daemon: TestDaemon;
let administrator: VaultPerson;
let now = Date.UTC(2026, 10, 20, 9, 30);

beforeAll(async () => {
  daemon = await startTestDaemon({ clock: () => now, env: { CROFT_RATE_LIMITS: "off" } });
  administrator = createPerson(daemon, "keeper", "203.0.113.1");
  await signIn();
  const mira = createPerson(daemon, "mira", "198.51.100.1");
  await mira.register();
  await mira.signIn();
  await mira.signIn({ password: "wrong" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const signIn = () =>
  administrator.signIn({
    email: daemon.first?.vault.email,
    password: daemon.first?.password,
  });
const admin = (path: string, init: Parameters<VaultPerson["request"]>[1] = {}) =>
  administrator.request(`/api/admin${path}`, init);
const linesOf = ({ text }: TestAnswer) => text.split("\r\n");

describe("the export of the audit", () => {
  test("the export of the audit is a CSV file of the listed records, oldest first", async () => {
    const answer = await admin("/audit/export?format=csv");
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="audit.csv"',
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
      "cache-control": "no-store",
    });
    const listed = (await admin("/audit?per_page=100")).json.items.toReversed();
    const [head, ...lines] = linesOf(answer);
    expect(head).toBe(HEAD);
    expect(lines.pop()).toBe("");
    expect(lines.map((line) => line.split(",").slice(0, 3))).toEqual(
      listed.map((one: Record<string, unknown>) => [
        String(one["id"]),
        one["created_at"],
        one["event_type"],
      ]),
    );
    expect(lines.at(-2)).toMatch(/,mira,mira@example\.org,.*,"\{""totp_used"":false\}"$/);
    expect((await admin("/audit/export")).text).toBe(answer.text);
    expect(await admin("/audit/export", { method: "HEAD" })).toMatchObject({
      status: 200,
      text: "",
    });
  });

  test("the export of the audit is narrowed as the list is", async () => {
    const events = async (query: string) =>
      linesOf(await admin(`/audit/export?${query}`))
        .slice(1, -1)
        .map((line) => line.split(",")[2]);
    expect(await events("user_handle=MIRA")).toEqual([
      "auth.registered",
      "auth.login",
      "auth.login_failed",
    ]);
    expect(await events("event_type=admin")).toEqual([]);
    expect(await events("user_handle=nobody-here")).toEqual([]);
    expect(await events(`from=${new Date(now + 1).toISOString()}`)).toEqual([]);
    expect(await events("to=2026-11-20")).toEqual([]);
  });

  test.each(["format=xml", "format=", "format=CSV", "event_type=auth.login", "from=x"])(
    "?%s is 422",
    async (query) => {
      expect(await admin(`/audit/export?${query}`)).toMatchObject({
        status: 422,
        json: { detail: [{ loc: ["query", query.split("=")[0]] }] },
      });
    },
  );
});

describe("daily exports", () => {
  beforeAll(async () => {
    now += DAY;
    const token = daemon.first?.forge.token ?? "";
    const run = "/api/v1/admin/cron/export_audit";
    expect(await daemon.request(run, { token, method: "POST" })).toMatchObject({ status: 204 });
    await signIn();
    await vi.waitFor(
      async () =>
        expect((await admin("/audit/daily-exports")).json.items[0]?.date).toBe("2026-11-20"),
      { timeout: 60_000 },
    );
  });

  test("daily exports are listed, newest first, in pages", async () => {
    const { json } = await admin("/audit/daily-exports");
    expect(json).toMatchObject({ total: json.items.length, page: 1, per_page: 30 });
    expect(json.items[0]).toEqual({ date: "2026-11-20", size_bytes: expect.any(Number) });
    const second = (await admin("/audit/daily-exports?per_page=1&page=2")).json;
    expect(second.items).toEqual(json.items.slice(1, 2));
    expect((await admin("/audit/daily-exports?page=9")).json.items).toEqual([]);
  });

  test("daily exports are downloaded by day, in part too", async () => {
    const whole = await admin("/audit/daily-exports/2026-11-20");
    expect(whole.status).toBe(200);
    expect(whole.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(whole.headers.get("content-disposition")).toBe(
      'attachment; filename="audit-2026-11-20.csv"',
    );
    expect(linesOf(whole)[0]).toBe(HEAD);
    expect(whole.text).toContain("auth.login_failed");
    const { size_bytes: size } = (await admin("/audit/daily-exports")).json.items[0];
    expect(Buffer.byteLength(whole.text)).toBe(size);
    const part = await admin("/audit/daily-exports/2026-11-20", {
      headers: { Range: "bytes=0-1" },
    });
    expect(part).toMatchObject({ status: 206, text: "id" });
  });

  test("the daily head of the audit chain is listed, and the chain is verified against it", async () => {
    const { json: heads } = await admin("/audit/heads");
    expect(heads).toMatchObject({ total: heads.items.length, page: 1, per_page: 30 });
    const [head] = heads.items;
    expect(head).toEqual({
      date: "2026-11-20",
      position: expect.any(Number),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      created_at: new Date(now).toISOString(),
    });
    const whole = (await admin(`/audit/verify?head=${head.hash.toUpperCase()}`)).json;
    expect(whole).toMatchObject({
      is_intact: true,
      head: "found",
      fault: null,
      unchained: 0,
      removed: 0,
    });
    expect(whole.position).toBeGreaterThan(head.position);
    expect((await admin("/audit/verify")).json).toMatchObject({ is_intact: true, head: null });
    expect((await admin(`/audit/verify?head=${"0".repeat(64)}`)).json).toMatchObject({
      is_intact: false,
      head: "missing",
      fault: null,
    });
    for (const wrong of ["", "x", "0".repeat(63), "0".repeat(65), `${"0".repeat(64)}%0A`])
      expect((await admin(`/audit/verify?head=${wrong}`)).status).toBe(422);
  });

  test("a daily export is 404 for a day without one and 422 for an invalid date", async () => {
    expect(await admin("/audit/daily-exports/2020-01-01")).toMatchObject({
      status: 404,
      json: { detail: "There is no export of this day" },
    });
    for (const day of ["2026-02-30", "2026-1-1", "20261120", "..%2Fcroft.db", "2026-11-20%00"])
      expect(await admin(`/audit/daily-exports/${day}`)).toMatchObject({
        status: 422,
        json: { detail: [{ loc: ["path", "date"] }] },
      });
  });
});

test("the overview counts users and storage, and shows the last ten records", async () => {
  const { status, json } = await admin("/overview");
  expect(status).toBe(200);
  expect(json).toMatchObject({
    user_count: 2,
    total_storage_bytes: 0,
    doc_status: { pending: 0, processing: 0, ready: 0, classification_failed: 0 },
  });
  expect(json.recent_audit).toEqual((await admin("/audit?per_page=10")).json.items);
});
