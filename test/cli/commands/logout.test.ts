import { describe, expect, test } from "vitest";
import { logout, type LogoutOptions } from "../../../cli/commands/logout.ts";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { readEntry, signIn } from "../support/signed-in.ts";

test("the line becomes options", async () => {
  expect(await optionsOf<LogoutOptions>(logout.define, [])).toEqual({
    services: ["forge", "vault"],
  });
  expect(await optionsOf<LogoutOptions>(logout.define, ["vault"])).toEqual({ services: ["vault"] });
  await expect(optionsOf(logout.define, ["cloud"])).rejects.toMatchObject({ code: "usage" });
});

describe("signing out", () => {
  test("ends both sessions at the daemon and forgets them", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/logout": { body: { message: "Signed out" } },
      "DELETE /api/v1/users/boss/tokens/7": { status: 204 },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
    const ran = await runCli(["logout", "--json"], { home: home.path });
    expect(ran.json()).toEqual({ forge: true, vault: true, profile: "default" });
    expect(daemon.requests.find(({ path }) => path === "/api/auth/logout")?.headers.cookie).toBe(
      "refresh_token=refresh-1",
    );
    expect([await readEntry(home.path, "forge"), await readEntry(home.path, "vault")]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("deletes the credentials when the daemon is unreachable, and warns that the token stays valid", async () => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "http://127.0.0.1:9", vault: {} });
    const ran = await runCli(["logout", "vault"], { home: home.path });
    expect(ran.code).toBe(0);
    expect(ran.err).toContain("may still be valid: cannot reach the daemon");
    expect(await readEntry(home.path, "vault")).toBeUndefined();
  });

  test("signing out of nothing exits 4", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["logout", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({ code: "not_signed_in" });
  });

  test("signing out with --dry-run sends and forgets nothing", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["logout", "vault", "--dry-run", "--json"], { home: home.path });
    expect(ran.json()).toMatchObject({ dry_run: true, request: { method: "POST" } });
    expect(await readEntry(home.path, "vault")).toBeDefined();
  });
});
