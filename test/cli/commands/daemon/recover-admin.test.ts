import Sqlite from "better-sqlite3";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const env = { CROFT_KEY_SOURCE: "file" };

test("the line becomes options", async () => {
  expect(await optionsOf("daemon recover-admin", ["mira"])).toEqual({ username: "mira" });
  const words = ["mira", "--random-password", "--reset-2fa"];
  expect(await optionsOf("daemon recover-admin", words)).toEqual({
    username: "mira",
    randomPassword: true,
    reset2fa: true,
  });
});

describe("daemon recover-admin", () => {
  const recover = (home: string, words: readonly string[], stdin?: string) =>
    runCli(["daemon", "recover-admin", ...words, "--yes", "--json"], {
      home,
      env,
      ...(stdin === undefined ? {} : { stdin }),
    });

  test("lets a deactivated administrator with a lost second factor sign in", async () => {
    await using home = await temporaryHome();
    {
      await using daemon = await startTestDaemon({ home: home.path });
      const name = daemon.first?.forge.username ?? "";
      expect((await recover(home.path, [name, "--random-password"])).error()).toMatchObject({
        code: "already_running",
      });
    }
    const database = new Sqlite(join(home.path, "croft.db"));
    database.exec(
      `UPDATE forge_users SET is_admin = 0, is_active = 0, prohibit_login = 1, must_change_password = 1;
       UPDATE forge_users SET two_factor_enabled = 1;
       INSERT INTO forge_two_factors (user_id, sealed_secret, last_step, created_at) SELECT id, '', 0, 0 FROM forge_users`,
    );
    database.close();

    const weak = await recover(home.path, ["keeper", "--password-stdin"], "short");
    expect(weak.error()).toMatchObject({ code: "invalid", exit_code: 12 });
    const ran = await recover(home.path, ["keeper", "--random-password", "--reset-2fa"]);
    expect(ran.code, ran.err).toBe(0);
    expect(ran.json()).toMatchObject({
      recovered: true,
      username: "keeper",
      second_factor_reset: true,
    });
    const { password } = ran.json() as { password: string };

    await using daemon = await startTestDaemon({ home: home.path });
    const authorization = `Basic ${Buffer.from(`keeper:${password}`).toString("base64")}`;
    const me = await daemon.request("/api/v1/user", { headers: { authorization } });
    expect(me).toMatchObject({
      status: 200,
      json: { login: "keeper", is_admin: true, active: true, prohibit_login: false },
    });
    const all = await daemon.request("/api/v1/admin/users", { headers: { authorization } });
    expect(all.status).toBe(200);
  });

  test("refuses an unknown account and a folder that is no home, and makes nothing", async () => {
    await using empty = await temporaryHome();
    const none = await recover(empty.path, ["keeper", "--random-password"]);
    expect(none.error()).toMatchObject({ code: "not_found" });
    expect(await readdir(empty.path)).toEqual([]);
    await using home = await temporaryHome();
    await (await startTestDaemon({ home: home.path })).stop();
    const unknown = await recover(home.path, ["nobody", "--random-password"]);
    expect(unknown.error()).toMatchObject({
      code: "not_found",
      message: 'the forge has no user "nobody"',
    });
  });
});
