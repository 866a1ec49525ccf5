import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { LATE_ADDRESSES } from "../../../daemon/contract/forge/rules.ts";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { optionsOf } from "../support/parse-line.ts";
import { fakeKeyring, runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

/** No forge account has a name that is an address of the server. */
const withoutAccounts = Object.fromEntries(
  LATE_ADDRESSES.map((name) => [
    `GET /api/v1/users/${name.toUpperCase()}`,
    { status: 404, body: { message: "user does not exist" } },
  ]),
);

test("an account whose pages an address of the vault hides is a warning", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    ...withoutAccounts,
    "GET /readyz": { body: {} },
    "GET /api/v1/version": { body: { version: "28.2.0" } },
    "GET /api/v1/user": { body: { username: "boss" } },
    "GET /api/v1/users/search": { body: { ok: true, data: [] } },
    "GET /api/v1/users/DOCS": { body: { username: "docs" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["doctor", "--json"], { home: home.path, keyring: fakeKeyring() });
  expect(ran.json()).toContainEqual({
    check: "names",
    status: "warning",
    message: expect.stringContaining("/docs") as unknown,
    hint: expect.stringContaining("croft admin user rename docs") as unknown,
  });
});

test("the line becomes options", async () => {
  expect(await optionsOf("doctor", ["--check"])).toEqual({ check: true });
});

test("a healthy home is all in order", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    ...withoutAccounts,
    "GET /readyz": { body: {} },
    "GET /api/v1/version": { body: { version: "28.2.0" } },
    "GET /api/v1/user": { body: { username: "boss" } },
    "GET /api/auth/me": { body: { handle: "mira" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
  const ran = await runCli(["doctor", "--check", "--json=check,status"], {
    home: home.path,
    keyring: fakeKeyring(),
  });
  const findings = ran.json() as { check: string; status: string }[];
  expect(Object.fromEntries(findings.map(({ check, status }) => [check, status]))).toEqual({
    service: "ok",
    settings: "ok",
    profile: "ok",
    keyring: "ok",
    // They are in files although there is a keyring, and the doctor says so.
    credentials: "warning",
    "master key": "ok",
    git: "ok",
    disk: "ok",
    certificate: "ok",
    daemon: "ok",
    backups: "ok",
    inboxes: "ok",
    names: "ok",
    forge: "ok",
    vault: "ok",
  });
});

test.each([80, 40])("a terminal of %i columns gets whole sentences", async (columns) => {
  await using home = await temporaryHome();
  const ran = await runCli(["doctor"], { home: home.path, terminal: true, columns });
  const text = stripVTControlCharacters(ran.out);
  expect(text).not.toContain("…");
  expect(text.replaceAll(/\s+/g, " ")).toContain("credentials are kept in files of mode 0600");
  const words = text.split("\n").filter((line) => line.trim().includes(" "));
  expect(Math.max(...words.map((line) => line.length))).toBeLessThanOrEqual(columns);
});

describe("the master key of a home", () => {
  const lookAt = async (
    record: object,
    { keyring = fakeKeyring(), keyFile = false, env = {} } = {},
  ) => {
    await using home = await temporaryHome();
    await mkdir(join(home.path, "keys"));
    await writeFile(join(home.path, "keys", "master.json"), JSON.stringify(record));
    if (keyFile) await writeFile(join(home.path, "keys", "master.key"), "key");
    const ran = await runCli(["doctor", "--json"], { home: home.path, keyring, env });
    const findings = ran.json() as { check: string; status: string; message: string }[];
    return findings.find(({ check }) => check === "master key");
  };
  const keyRecord = { source: "keyring", account: "master-key:1" };

  test("in an unlocked keyring is a warning about the start at boot", async () => {
    const keyring = fakeKeyring();
    keyring.entries.set(keyRecord.account, "key");
    expect(await lookAt(keyRecord, { keyring })).toMatchObject({
      status: "warning",
      message: expect.stringContaining("starts at boot waits") as string,
      hint: expect.stringContaining("--with-keys") as string,
    });
  });

  test("in a locked or unavailable keyring fails with the remedy", async () => {
    const locked = fakeKeyring();
    const away = {
      ...fakeKeyring(),
      getPassword: () => Promise.reject(new Error("no session bus")),
    };
    for (const keyring of [locked, away])
      expect(await lookAt(keyRecord, { keyring })).toMatchObject({
        status: "failed",
        message: "the master key is not in the system's keyring: the daemon cannot start",
        hint: "unlock the keyring by signing in, or name a file with it in CROFT_MASTER_KEY_FILE",
      });
  });

  test("in a file is in order when the file is there", async () => {
    const record = { source: "file", account: "" };
    expect(await lookAt(record, { keyFile: true })).toMatchObject({ status: "ok" });
    expect(await lookAt(record)).toMatchObject({ status: "failed" });
  });

  test("in the environment is in order when it is set", async () => {
    const record = { source: "environment", account: "" };
    const env = { CROFT_MASTER_KEY: "ab".repeat(32) };
    expect(await lookAt(record, { env })).toMatchObject({ status: "ok" });
    expect(await lookAt(record)).toMatchObject({ status: "failed" });
  });
});

test("a bucket that the daemon cannot reach is a warning of its own", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    ...withoutAccounts,
    "GET /readyz": { body: { status: "ready", objects: "unreachable" } },
    "GET /api/v1/user": { body: { username: "boss" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["doctor", "--json"], { home: home.path, keyring: fakeKeyring() });
  expect(ran.json()).toContainEqual(
    expect.objectContaining({
      check: "daemon",
      status: "warning",
      message: expect.stringContaining("cannot reach the bucket"),
    }),
  );
});

test("a daemon that runs no jobs is broken", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    ...withoutAccounts,
    "GET /readyz": { status: 503, body: { status: "not ready", jobs: "stalled" } },
    "GET /api/v1/user": { body: { username: "boss" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["doctor", "--json"], { home: home.path, keyring: fakeKeyring() });
  const message = expect.stringContaining("runs no jobs") as unknown;
  expect(ran.json()).toContainEqual(
    expect.objectContaining({ check: "daemon", status: "failed", message }),
  );
});

test.each([
  ["failed", "warning", "scheduled backup failed"],
  ["interrupted", "warning", "was interrupted"],
  ["succeeded", "ok", "succeeded"],
  ["running", "ok", "is being made"],
])("reports a scheduled backup that is %s", async (backup, status, words) => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    ...withoutAccounts,
    "GET /readyz": { body: { status: "ready", backup } },
    "GET /api/v1/version": { body: { version: "28.2.0" } },
    "GET /api/v1/user": { body: { username: "boss" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["doctor", "--json"], { home: home.path, keyring: fakeKeyring() });
  const message = expect.stringContaining(words) as unknown;
  expect(ran.json()).toContainEqual(expect.objectContaining({ check: "backups", status, message }));
});

test("reports whether backups are scheduled before there is one", async () => {
  const lookAt = async (config: string) => {
    await using home = await temporaryHome();
    await writeFile(join(home.path, "config.yaml"), config);
    const ran = await runCli(["doctor", "--json"], { home: home.path });
    const findings = ran.json() as { readonly check: string; readonly message: string }[];
    return findings.find(({ check }) => check === "backups")?.message;
  };
  expect(await lookAt("")).toContain("none are scheduled");
  expect(await lookAt("backup_folder: b\nbackup_schedule: '@daily'\n")).toContain("(@daily)");
});

test("doctor reports problems, and fails with --check", async () => {
  await using home = await temporaryHome();
  await writeFile(join(home.path, "config.yaml"), "port: 9\nprot: 1\n");
  const shown = await runCli(["doctor", "--json"], { home: home.path });
  expect(shown.code).toBe(0);
  expect(shown.json()).toContainEqual(
    expect.objectContaining({
      check: "settings",
      status: "failed",
      message: expect.stringContaining('unknown setting "prot"'),
    }),
  );
  const checked = await runCli(["doctor", "--check", "--json"], { home: home.path });
  expect(checked).toMatchObject({ code: 1, out: "" });
  expect(checked.error()).toMatchObject({ code: "checks_failed" });
});

test("unreadable settings are reported once", async () => {
  await using home = await temporaryHome();
  await writeFile(join(home.path, "config.yaml"), "prot: 1\n");
  const ran = await runCli(["doctor", "--json"], { home: home.path, keyring: fakeKeyring() });
  const findings = ran.json() as { check: string; status: string; message: string }[];
  expect(findings[0]).toMatchObject({ check: "settings", status: "failed" });
  expect(findings.filter(({ message }) => message.includes("prot"))).toHaveLength(1);
  expect(findings.find(({ check }) => check === "daemon")).toMatchObject({
    status: "failed",
    message: "the settings cannot be read",
  });
});

describe("what a daemon needs from its machine", () => {
  const lookAt = async (check: string, env: Readonly<Record<string, string>>, home: string) => {
    const ran = await runCli(["doctor", "--json"], { home, env });
    const findings = ran.json() as { check: string; status: string; message: string }[];
    return findings.find((finding) => finding.check === check);
  };

  test("a missing or old git fails, and is not needed without a home", async () => {
    await using home = await temporaryHome();
    expect(await lookAt("git", { PATH: home.path }, home.path)).toMatchObject({ status: "failed" });
    await writeFile(join(home.path, "git"), "#!/bin/sh\necho git version 2.30.1\n", {
      mode: 0o755,
    });
    expect(await lookAt("git", { PATH: home.path }, home.path)).toMatchObject({
      status: "failed",
      message: "git 2.30.1 is too old",
    });
    expect(await lookAt("git", { PATH: "" }, join(home.path, "none"))).toMatchObject({
      status: "ok",
    });
  });

  test("a certificate that has ended, ends soon or is damaged is reported with its file", async () => {
    await using home = await temporaryHome();
    const { generate } = await import("selfsigned");
    const [certificate, key] = [join(home.path, "a.crt"), join(home.path, "a.key")];
    const look = () => lookAt("certificate", { CROFT_TLS: `${certificate},${key}` }, home.path);
    const write = async (days: number) => {
      const notAfterDate = new Date(Date.now() + days * 86_400_000);
      const notBeforeDate = new Date(Date.now() - 100 * 86_400_000);
      const made = await generate([{ name: "commonName", value: "croft" }], {
        notBeforeDate,
        notAfterDate,
      });
      await writeFile(certificate, made.cert);
    };
    await write(90);
    expect(await look()).toMatchObject({ status: "ok" });
    await write(3);
    expect(await look()).toMatchObject({ status: "warning" });
    await write(-3);
    expect(await look()).toMatchObject({ status: "failed" });
    await writeFile(certificate, "damaged");
    expect(await look()).toMatchObject({
      status: "failed",
      message: `${certificate} holds no certificate`,
    });
  });
});
