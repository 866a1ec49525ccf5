import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { rotateKey } from "../../daemon/main.ts";
import { startTestDaemon, type TestDaemon, testInput } from "../support/daemon.ts";
import { totpCode } from "../support/vault/vault-accounts.ts";
import { createPerson } from "../support/vault/vault-person.ts";

const START = Date.UTC(2026, 10, 20, 9, 30);
const all = { skipUnreadable: false };

describe("a rotation of the master key", () => {
  test("keeps second factors, storages, hooks, mails and sign-ins of both APIs", async () => {
    let now = START;
    const options = {
      clock: () => now,
      env: {
        CROFT_RATE_LIMITS: "off",
        // Nothing listens on this port, so mails wait in the queue.
        CROFT_SMTP_URL: "smtp://127.0.0.1:9",
        CROFT_DROPBOX_CLIENT_ID: "id",
        CROFT_DROPBOX_CLIENT_SECRET: "secret",
      },
    };
    await using first = await startTestDaemon(options);
    const vault = await fillVault(first, now);
    const forge = await fillForge(first, now);
    await first.stop();
    const oldKey = (await readFile(join(first.home, "keys/master.key"), "utf8")).trim();
    const before = sealedVersions(first.home);
    await copyFile(join(first.home, "croft.db"), join(first.home, "older.db"));
    expect(before).toEqual(Array.from({ length: 9 }, () => "k1"));

    expect(await rotateKey(testInput(first.home, options, []), all)).toEqual({
      kind: "rotated",
      source: "file",
      isResumed: false,
      sealedAgain: 9,
      leftUnreadable: [],
    });

    expect(sealedVersions(first.home)).toEqual(before.map(() => "k2"));
    expect(await readFile(join(first.home, "keys/master.key"), "utf8")).not.toContain(oldKey);
    now += 30_000;
    await using second = await startTestDaemon({ ...options, home: first.home });
    const again = { mira: createPerson(second, "mira", "192.0.2.1"), noah: vault.noah(second) };

    // Access tokens become invalid, because their signing key was replaced; their sessions stay.
    again.mira.accessToken = vault.accessToken;
    again.mira.refreshToken = vault.refreshToken;
    expect(await again.mira.request("/api/auth/me")).toMatchObject({ status: 401 });
    expect(await again.mira.refresh()).toMatchObject({ status: 200 });
    const items = `/api/cloud/connections/${vault.connectionId}/items`;
    expect(await again.mira.request(items)).toMatchObject({
      status: 200,
      json: { refresh_state: "fresh" },
    });
    expect(await again.mira.signIn({ totp_code: totpCode(vault.secret, now) })).toMatchObject({
      status: 200,
      json: { user: { totp_enabled: true } },
    });
    expect(await again.mira.signIn({ backup_code: vault.backupCode })).toMatchObject({
      status: 200,
    });
    await again.noah.signIn();
    expect(
      await again.noah.request("/api/auth/totp/enable", {
        json: { code: totpCode(vault.pendingSecret, now) },
      }),
    ).toMatchObject({ status: 200 });

    const headers = { "X-Gitea-OTP": totpCode(forge.secret, now) };
    expect(
      await second.request("/api/v1/user", { basic: "forgemira:user-password", headers }),
    ).toMatchObject({ status: 200 });
    expect(
      await second.request(`/api/v1/admin/hooks/${forge.hookId}`, { token: forge.token }),
    ).toMatchObject({ json: { config: { url: "http://127.0.0.1:9/" } } });
    await second.stop();

    // A copy from before the rotation is of use, too.
    await copyFile(join(first.home, "older.db"), join(first.home, "croft.db"));
    now += 30_000;
    await using third = await startTestDaemon({ ...options, home: first.home });
    const mira = createPerson(third, "mira", "192.0.2.1");
    expect(await mira.signIn({ totp_code: totpCode(vault.secret, now) })).toMatchObject({
      status: 200,
      json: { user: { totp_enabled: true } },
    });
  });

  test("each start logs an incomplete rotation until it is completed", async () => {
    await using first = await startTestDaemon();
    await first.stop();
    const file = join(first.home, "keys/master.key");
    const old = await readFile(file, "utf8");
    await writeFile(file, `${"ab".repeat(32)}\n${old}`);
    const warned = (daemon: TestDaemon) =>
      daemon.log.filter(({ msg, message }) => /croft key rotate/.test(String(message ?? msg)));
    await using second = await startTestDaemon({ home: first.home });
    expect(warned(second)).toHaveLength(1);
    await second.stop();
    expect(await rotateKey(testInput(first.home, {}, []), all)).toMatchObject({ isResumed: true });
    await using third = await startTestDaemon({ home: first.home });
    expect(warned(third)).toEqual([]);
  });

  test("a rotation of the master key is refused while a daemon runs, and without a home", async () => {
    await using daemon = await startTestDaemon();
    await expect(rotateKey(testInput(daemon.home, {}, []), all)).rejects.toMatchObject({
      code: "conflict",
    });
    await expect(
      rotateKey(testInput(join(daemon.home, "nowhere"), {}, []), all),
    ).rejects.toMatchObject({ code: "not_found" });
  });
});

async function fillVault(daemon: TestDaemon, now: number) {
  const mira = createPerson(daemon, "mira", "192.0.2.1");
  await mira.register();
  await mira.signIn();
  const connection = await mira.request("/api/cloud/connections", {
    json: {
      provider: "local_folder",
      display_name: "mine",
      settings: { root: "." },
    },
  });
  expect(connection.status).toBe(201);
  expect((await mira.request("/api/cloud/authorize/dropbox")).status).toBe(200);
  const { secret } = (await mira.request("/api/auth/totp/setup")).json;
  const enrolled = await mira.request("/api/auth/totp/enable", {
    json: { code: totpCode(secret, now) },
  });
  await mira.refresh();
  const noah = createPerson(daemon, "noah", "192.0.2.2");
  await noah.register();
  await noah.signIn();
  const pending = await noah.request("/api/auth/totp/setup");
  await noah.request("/api/auth/password-reset", { json: { email: noah.email } });
  await expect.poll(() => sealedVersions(daemon.home).length).toBe(7);
  return {
    accessToken: mira.accessToken,
    refreshToken: mira.refreshToken,
    connectionId: connection.json.id as string,
    secret: secret as string,
    backupCode: enrolled.json.backup_codes[0] as string,
    pendingSecret: pending.json.secret as string,
    noah: (other: TestDaemon) => createPerson(other, "noah", "192.0.2.2"),
  };
}

async function fillForge(daemon: TestDaemon, now: number) {
  const token = daemon.first?.forge.token ?? "";
  await daemon.request("/api/v1/admin/users", {
    token,
    json: {
      username: "forgemira",
      email: "forgemira@example.org",
      password: "user-password",
      must_change_password: false,
    },
  });
  const basic = "forgemira:user-password";
  const { json } = await daemon.request("/api/v1/user/2fa/setup", { basic, method: "POST" });
  const enabled = await daemon.request("/api/v1/user/2fa/enable", {
    basic,
    json: { code: totpCode(json.secret, now) },
  });
  expect(enabled.status).toBe(204);
  const hook = await daemon.request("/api/v1/admin/hooks", {
    token,
    json: { type: "gitea", config: { url: "http://127.0.0.1:9/", content_type: "json" } },
  });
  expect(hook.status).toBe(201);
  return { token, secret: json.secret as string, hookId: hook.json.id as number };
}

/** The key version of every sealed value in the whole database, whatever column it lies in. */
function sealedVersions(home: string): string[] {
  const db = new Sqlite(join(home, "croft.db"), { readonly: true });
  try {
    const tables = db
      .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all();
    return tables.flatMap(({ name }) =>
      db
        .prepare<[], Record<string, unknown>>(`SELECT * FROM "${name}"`)
        .all()
        .flatMap((row) => Object.values(row))
        .flatMap((value) => (typeof value === "string" ? [value] : []))
        .flatMap((text) =>
          [...text.matchAll(/(?<!\w)(k\d+)\.[\w-]{38,}/g)].map(([, key]) => key ?? ""),
        ),
    );
  } finally {
    db.close();
  }
}
