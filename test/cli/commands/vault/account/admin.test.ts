import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const mira = {
  id: "0198c0de-0000-7000-8000-000000000001",
  handle: "mira",
  email: "mira@example.org",
  role: "user",
  totp_enabled: false,
  is_active: true,
  password_must_change: false,
  created_at: "2026-11-20T09:00:00.000Z",
};
const mirabel = { ...mira, id: "0198c0de-0000-7000-8000-000000000002", handle: "mirabel" };
const found = {
  "GET /api/admin/users": {
    body: { items: [mirabel, mira], total: 2, page: 1, per_page: 100 },
  },
};

test("the lines become options", async () => {
  expect(await optionsOf("vault admin user list", ["--search", "mi", "--active", "false"])).toEqual(
    { search: "mi", active: "false" },
  );
  expect(await optionsOf("vault admin user create", ["--handle", "h", "--email", "a@b"])).toEqual({
    handle: "h",
    email: "a@b",
  });
  expect(await optionsOf("vault admin audit list", ["--event", "auth", "--user", "mira"])).toEqual({
    event: "auth",
    user: "mira",
  });
  expect(await refusalOf("vault admin audit list", ["--event", "auth.login"])).toMatch(/^croft: /);
});

test.each([
  ["0", 0],
  ["1024", 1024],
  ["500MiB", 524_288_000],
  ["2 gib", 2_147_483_648],
  ["1.5GB", 1_500_000_000],
])("--limit %s is %i bytes", async (word, limitBytes) => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    ...found,
    [`PUT /api/admin/users/${mira.id}/quota`]: { body: {} },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  await runCli(["vault", "admin", "quota", "set", "mira", "--limit", word], { home: home.path });
  expect(daemon.requests.at(-1)?.json()).toEqual({ limit_bytes: limitBytes });
});

test.each(["", "-1", "1.5", "1PB", "lots", "9999999999TiB"])(
  "--limit %j is refused",
  async (word) => {
    expect(await refusalOf("vault admin quota set", ["mira", "--limit", word])).toMatch(/^croft: /);
  },
);

describe("folders granted to a user", () => {
  const path = `/api/admin/users/${mira.id}/local-folders`;

  test.each([
    [["list", "mira"], "GET", undefined, ["/srv/photos"]],
    [
      ["set", "mira", "/srv/photos", "music"],
      "PUT",
      { folders: ["/srv/photos", "music"] },
      ["/srv/photos"],
    ],
    [["set", "mira"], "PUT", { folders: [] }, []],
  ] as const)(
    "local-folder %j sends one request and prints the folders",
    async (line, method, body, folders) => {
      await using home = await temporaryHome();
      await using daemon = await fakeDaemon({
        ...found,
        [`${method} ${path}`]: { body: { folders } },
      });
      await signIn(home.path, { url: daemon.url, vault: {} });
      const ran = await runCli(["vault", "admin", "user", "local-folder", ...line, "--json"], {
        home: home.path,
      });
      expect([ran.code, ran.json()]).toEqual([0, { folders }]);
      const sent = daemon.requests.at(-1);
      expect(sent?.body.byteLength === 0 ? undefined : sent?.json()).toEqual(body);
    },
  );
});

describe("users of the vault", () => {
  test("users of the vault are listed and searched", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon(found);
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "admin", "user", "list", "--search", "mira", "--role", "user"];
    const ran = await runCli([...line, "--json=handle,is_active"], { home: home.path });
    expect(ran.json()).toEqual([
      { handle: "mirabel", is_active: true },
      { handle: "mira", is_active: true },
    ]);
    expect(daemon.requests[0]?.path).toContain("q=mira");
    expect(daemon.requests[0]?.path).toContain("role=user");
  });

  test("users of the vault are made without a password", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/admin/users": { status: 201, body: { ...mira, password_must_change: true } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "admin", "user", "create", "--handle", "mira", "--email", mira.email];
    const ran = await runCli([...line, "--json"], { home: home.path });
    expect(ran.json()).toMatchObject({ handle: "mira", password_must_change: true });
    expect(daemon.requests[0]?.json()).toEqual({ handle: "mira", email: mira.email });
  });

  test("users of the vault are named by handle in any case, or by id", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      ...found,
      [`PATCH /api/admin/users/${mira.id}/status`]: { body: { ...mira, is_active: false } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    for (const word of ["MIRA", mira.id]) {
      const line = ["vault", "admin", "user", "deactivate", word, "--json"];
      expect((await runCli(line, { home: home.path })).json()).toMatchObject({ is_active: false });
    }
    expect(daemon.requests.map(({ method }) => method)).toEqual(["GET", "PATCH", "PATCH"]);
    expect(daemon.requests[1]?.json()).toEqual({ is_active: false });
    const unknown = await runCli(["vault", "admin", "user", "activate", "mir", "--json"], {
      home: home.path,
    });
    expect(unknown.code).toBe(6);
    expect(unknown.error()).toMatchObject({ code: "not_found" });
  });

  test("users of the vault are deleted after a confirmation", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      ...found,
      [`DELETE /api/admin/users/${mira.id}`]: { body: { message: "User deleted." } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "admin", "user", "delete", "mira", "--json"];
    expect((await runCli(line, { home: home.path })).code).toBe(2);
    expect(daemon.requests.map(({ method }) => method)).toEqual(["GET"]);
    const ran = await runCli([...line, "--yes"], { home: home.path });
    expect(ran.json()).toEqual({ deleted: true, id: mira.id });
  });

  test("an administrator can require a user of the vault to choose a new password", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      [`POST /api/admin/users/${mira.id}/password-reset`]: {
        status: 202,
        body: { message: "On its way." },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "admin", "user", "reset-password", mira.id, "--json"];
    expect((await runCli(line, { home: home.path })).json()).toEqual({ message: "On its way." });
  });

  test("the last administrator stays: exit 7", async () => {
    await using home = await temporaryHome();
    const detail = "The last active administrator cannot be deactivated";
    await using daemon = await fakeDaemon({
      [`PATCH /api/admin/users/${mira.id}/status`]: { status: 409, body: { detail } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "admin", "user", "deactivate", mira.id, "--json"];
    const ran = await runCli(line, { home: home.path });
    expect(ran.code).toBe(7);
    expect(ran.error()).toMatchObject({
      message: detail,
      hint: expect.stringMatching(/--role admin/),
    });
  });
});

test("a page larger than the vault gives is refused by the name of the flag", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(found);
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "admin", "user", "list", "--limit", "101", "--json"];
  const ran = await runCli(line, { home: home.path });
  expect(ran.code).toBe(2);
  expect(ran.error()).toMatchObject({
    code: "usage",
    message: "--limit takes at most 100 here",
    hint: "--all lists everything",
  });
});

test("quotas are shown and set", async () => {
  await using home = await temporaryHome();
  const path = `/api/admin/users/${mira.id}/quota`;
  await using daemon = await fakeDaemon({
    [`GET ${path}`]: { body: { used_bytes: 1, limit_bytes: 10 } },
    [`PUT ${path}`]: { body: { used_bytes: 1, limit_bytes: 2048 } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const shown = await runCli(["vault", "admin", "quota", "view", mira.id], { home: home.path });
  expect(shown.out).toBe("used\t1\nlimit\t10\nfree\t9\n");
  const line = ["vault", "admin", "quota", "set", mira.id, "--limit", "2KiB", "--json"];
  expect((await runCli(line, { home: home.path })).json()).toMatchObject({ limit_bytes: 2048 });
  expect(daemon.requests[1]?.json()).toEqual({ limit_bytes: 2048 });
});

test("audit records are listed with their conditions", async () => {
  await using home = await temporaryHome();
  const entry = {
    id: 1,
    event_type: "auth.login",
    user_id: mira.id,
    user_handle: "mira",
    user_email: mira.email,
    actor_id: mira.id,
    actor_handle: null,
    resource_id: null,
    ip_address: "203.0.113.7",
    metadata: { totp_used: true },
    created_at: "2026-11-20T09:00:00.000Z",
  };
  await using daemon = await fakeDaemon({
    "GET /api/admin/audit": { body: { items: [entry], total: 1, page: 1, per_page: 30 } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "admin", "audit", "list", "--user", "mira", "--event", "auth"];
  const ran = await runCli([...line, "--from", "2026-11-20"], { home: home.path });
  expect(ran.out).toBe(
    `2026-11-20T09:00:00.000Z\tauth.login\tmira\t${mira.id}\t203.0.113.7\ttotp_used=true\n`,
  );
  const { searchParams } = new URL(daemon.requests[0]?.path ?? "", daemon.url);
  expect(Object.fromEntries(searchParams)).toEqual({
    user_handle: "mira",
    event_type: "auth",
    from: "2026-11-20",
    page: "1",
  });
});

test("the audit chain is verified, and a record that does not fit is named with code 1", async () => {
  await using home = await temporaryHome();
  const hash = "ab".repeat(32);
  const good = {
    is_intact: true,
    verified: 7,
    unchained: 2,
    removed: 0,
    position: 7,
    hash,
    head: "found",
    fault: null,
  };
  let answer: object = good;
  await using daemon = await fakeDaemon({
    "GET /api/admin/audit/verify": () => ({ body: answer }),
    "GET /api/admin/audit/heads": {
      body: {
        items: [{ date: "2026-11-20", position: 7, hash, created_at: "2026-11-21T00:10:00.000Z" }],
        total: 1,
        page: 1,
        per_page: 30,
      },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "admin", "audit", "verify", "--head", hash];
  const ran = await runCli(line, { home: home.path });
  expect(ran).toMatchObject({ code: 0, err: "" });
  expect(ran.out).toContain(`hash\t${hash}\n`);
  expect(daemon.requests[0]?.path).toContain(`head=${hash}`);
  const fault = { position: 3, record_id: 12, reason: "changed" };
  answer = { ...good, is_intact: false, verified: 2, fault };
  const wrong = await runCli([...line, "--json"], { home: home.path });
  expect(wrong).toMatchObject({ code: 1 });
  expect(wrong.json()).toMatchObject({ is_intact: false, fault });
  expect(wrong.err).toContain("Record 3 (id 12) was changed.");
  answer = { ...good, is_intact: false, head: "missing" };
  const missing = await runCli(line, { home: home.path });
  expect(missing.code).toBe(1);
  expect(missing.err).toContain("No record has the given hash");
  const listed = await runCli(["vault", "admin", "audit", "head", "list"], { home: home.path });
  expect(listed.out).toBe(`2026-11-20\t7\t${hash}\n`);
});

describe("audit records as CSV", () => {
  const csv = { body: Buffer.from("id,event\r\n1,auth.login\r\n") };

  test("audit records as CSV go to standard output, narrowed as the list is", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/admin/audit/export": csv,
      "GET /api/admin/audit/daily-exports/2026-11-20": csv,
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "admin", "audit", "export", "--user", "mira", "--from", "2026-11-20"];
    expect((await runCli(line, { home: home.path })).out).toBe("id,event\r\n1,auth.login\r\n");
    expect(daemon.requests[0]?.path).toContain("user_handle=mira");
    expect(daemon.requests[0]?.path).toContain("from=2026-11-20");
    const day = ["vault", "admin", "audit", "daily", "download", "2026-11-20"];
    expect((await runCli(day, { home: home.path })).out).toContain("auth.login");
  });

  test("audit records as CSV are not machine output, and not for a terminal unless forced", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "GET /api/admin/audit/export": csv });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "admin", "audit", "export"];
    expect((await runCli([...line, "--json"], { home: home.path })).code).toBe(2);
    const terminal = { home: home.path, terminal: { out: true } };
    expect(await runCli(line, terminal)).toMatchObject({ code: 2, out: "" });
    expect((await runCli([...line, "--force"], terminal)).out).toContain("auth.login");
  });

  test("a truncated CSV of audit records is an error", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/admin/audit/export": { ...csv, cut: true },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "admin", "audit", "export"], { home: home.path });
    expect(ran).toMatchObject({ code: 10 });
    expect(ran.err).toContain("the export is incomplete");
  });

  test("audit records as CSV of days are listed", async () => {
    await using home = await temporaryHome();
    const items = [{ date: "2026-11-20", size_bytes: 12 }];
    await using daemon = await fakeDaemon({
      "GET /api/admin/audit/daily-exports": { body: { items, total: 1, page: 1, per_page: 30 } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "admin", "audit", "daily", "list"];
    expect((await runCli(line, { home: home.path })).out).toBe("2026-11-20\t12\n");
  });
});

test("the overview prints counts and sizes", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/admin/overview": {
      body: {
        user_count: 2,
        total_storage_bytes: 10,
        doc_status: { pending: 0, processing: 0, ready: 3, classification_failed: 0 },
        recent_audit: [{ event_type: "auth.login", user_handle: "mira", user_id: mira.id }],
      },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const { out } = await runCli(["vault", "admin", "overview"], { home: home.path });
  expect(out).toContain("users\t2\nstorage\t10\n");
  expect(out).toContain("ready 3");
  expect(out).toContain("auth.login mira");
});
