import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const token = {
  id: "0198c0de-0000-7000-8000-000000000001",
  name: "ci",
  scope: "read",
  created_at: "2026-11-20T09:00:00.000Z",
  expires_at: null,
  last_used_at: null,
};
const page = { body: { items: [token], total: 1, page: 1, per_page: 100 } };

describe("croft vault token", () => {
  test("create sends name, scope and expiry and prints the secret", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/tokens": { status: 201, body: { ...token, token: "crv_secret" } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "token", "create", "ci", "--scope", "read", "--expires", "2027-01-31"];
    const ran = await runCli([...line, "--json"], { home: home.path });
    expect(ran.json()).toMatchObject({ token: "crv_secret", name: "ci" });
    expect(daemon.requests[0]?.json()).toEqual({
      name: "ci",
      scope: "read",
      expires_at: "2027-01-31T00:00:00.000Z",
    });
  });

  test.each(["soon", "0d", "2027-13-01", "31.1.2027"])(
    "create refuses --expires %s",
    async (when) => {
      await using home = await temporaryHome();
      const line = ["vault", "token", "create", "ci", "--scope", "read", "--expires", when];
      const ran = await runCli([...line, "--json"], { home: home.path });
      expect(ran.error()).toMatchObject({ code: "usage" });
    },
  );

  test("list prints tokens without secrets", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "GET /api/auth/tokens": page });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "token", "list", "--json"], { home: home.path });
    expect(ran.json()).toEqual([token]);
  });

  test("revoke finds a token by its name", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/auth/tokens": page,
      [`DELETE /api/auth/tokens/${token.id}`]: { body: { message: "Token revoked." } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "token", "revoke", "ci", "--yes", "--json"], {
      home: home.path,
    });
    expect(ran.json()).toEqual({ revoked: true, id: token.id, name: "ci" });
    const missing = await runCli(["vault", "token", "revoke", "other", "--yes", "--json"], {
      home: home.path,
    });
    expect(missing.error()).toMatchObject({ code: "not_found" });
  });
});
