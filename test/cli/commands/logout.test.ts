import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { startTestDaemon } from "../../support/daemon.ts";
import { readEntry, signIn, writeEntry } from "../support/signed-in.ts";

test("the line becomes options", async () => {
  expect(await optionsOf("logout", [])).toEqual({});
  expect(await optionsOf("logout", ["vault"])).toEqual({ service: "vault" });
  expect(await refusalOf("logout", ["cloud"])).toMatch(/^croft: /);
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

  test("revokes the token of the first start, and a new sign-in revokes the former one", async () => {
    await using home = await temporaryHome();
    await using daemon = await startTestDaemon();
    const first = daemon.first?.forge;
    const run = (line: string[], stdin = "") =>
      runCli([...line, "--json"], { home: home.path, env: { CROFT_URL: daemon.url }, stdin });
    const isValid = async (token: string) =>
      (await fetch(`${daemon.url}/api/v1/user`, { headers: { Authorization: `token ${token}` } }))
        .status === 200;
    const stored = async () =>
      ((await readEntry(home.path, "forge")) as { token: string } | undefined)?.token ?? "";
    await signIn(home.path, {
      url: daemon.url,
      forgeToken: first?.token ?? "",
      forgeUsername: first?.username ?? "",
    });
    await writeEntry(home.path, "forge", {
      token: first?.token,
      token_id: null,
      is_first: true,
      url: daemon.url,
    });
    const login = ["login", "forge", "--username", first?.username ?? "", "--password-stdin"];
    expect((await run(login, daemon.first?.password)).code).toBe(0);
    expect(await isValid(first?.token ?? "")).toBe(false);
    const second = await stored();
    expect(await isValid(second)).toBe(true);
    expect((await run(login, daemon.first?.password)).code).toBe(0);
    const third = await stored();
    expect([await isValid(second), await isValid(third)]).toEqual([false, true]);
    await writeEntry(home.path, "forge", {
      token: third,
      token_id: null,
      is_first: true,
      url: daemon.url,
    });
    expect((await run(["logout", "forge"])).code).toBe(0);
    expect(await isValid(third)).toBe(false);
    // A token that the user gave may be in use elsewhere.
    const made = await run(
      ["login", "forge", "--username", first?.username ?? "", "--password-stdin"],
      daemon.first?.password,
    );
    expect(made.code).toBe(0);
    const given = await stored();
    await writeEntry(home.path, "forge", { token: given, token_id: null, url: daemon.url });
    expect((await run(["logout", "forge"])).code).toBe(0);
    expect(await isValid(given)).toBe(true);
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
