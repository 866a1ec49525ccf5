import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { readEntry, signIn } from "../../../support/signed-in.ts";

const session = {
  id: "0198c0de-0000-7000-8000-000000000001",
  created_at: "2026-11-20T09:00:00.000Z",
  last_used_at: "2026-11-20T10:00:00.000Z",
  expires_at: "2026-11-21T02:00:00.000Z",
  ip_address: "203.0.113.7",
  user_agent: "croft-cli",
  current: true,
};

test("the lines become options", async () => {
  expect(await optionsOf("vault session revoke", [session.id])).toEqual({
    id: session.id,
  });
  expect(await optionsOf("vault session revoke", ["--everywhere"])).toEqual({
    everywhere: true,
  });
  expect(await refusalOf("vault session revoke", [])).toMatch(/^croft: /);
  expect(await refusalOf("vault session revoke", ["x", "--everywhere"])).toMatch(/^croft: /);
});

describe("the caller's sessions", () => {
  test("the caller's sessions are listed", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/auth/sessions": { body: { items: [session], total: 1, page: 1, per_page: 30 } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "session", "list"], { home: home.path });
    expect(ran.out).toBe(
      `${session.id}\ttrue\t203.0.113.7\tcroft-cli\t${session.last_used_at}\t${session.created_at}\n`,
    );
    const json = await runCli(["vault", "session", "list", "--json"], { home: home.path });
    expect(json.json()).toEqual([session]);
  });

  test("the caller's sessions are ended one at a time", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      [`DELETE /api/auth/sessions/${session.id}`]: { body: { message: "Session revoked." } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "session", "revoke", session.id, "--json"], {
      home: home.path,
    });
    expect(ran.json()).toEqual({ revoked: 1, id: session.id });
    expect(await readEntry(home.path, "vault")).toBeDefined();
  });

  test("the caller's sessions are all ended, and the credentials are forgotten with them", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/logout-all": {
        body: { message: "Signed out of 3 sessions.", sessions_revoked: 3 },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "session", "revoke", "--everywhere"];
    const ran = await runCli([...line, "--json"], { home: home.path });
    expect(ran.json()).toEqual({ revoked: 3, id: null });
    expect(await readEntry(home.path, "vault")).toBeUndefined();
  });

  test("the caller's sessions of other users are not found", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      [`DELETE /api/auth/sessions/${session.id}`]: {
        status: 404,
        body: { detail: "Session not found" },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "session", "revoke", session.id, "--json"], {
      home: home.path,
    });
    expect(ran.code).toBe(6);
    expect(ran.error()).toMatchObject({ code: "not_found", message: "Session not found" });
  });
});
