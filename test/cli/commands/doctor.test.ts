import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { doctor, type DoctorOptions } from "../../../cli/commands/doctor.ts";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { optionsOf } from "../support/parse-line.ts";
import { fakeKeyring, runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

test("the line becomes options", async () => {
  expect(await optionsOf<DoctorOptions>(doctor.define, ["--check"])).toEqual({ check: true });
});

test("a healthy home is all in order", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
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
    settings: "ok",
    profile: "ok",
    keyring: "ok",
    // They are in files although there is a keyring, and the doctor says so.
    credentials: "warning",
    daemon: "ok",
    forge: "ok",
    vault: "ok",
  });
});

test("a bucket that the daemon cannot reach is a warning of its own", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
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

test("doctor reports problems, and fails with --check", async () => {
  await using home = await temporaryHome();
  await writeFile(join(home.path, "config.yaml"), "port: 9\nprot: 1\n");
  const shown = await runCli(["doctor", "--json"], { home: home.path });
  expect(shown.code).toBe(0);
  expect(shown.json()).toContainEqual(
    expect.objectContaining({
      check: "settings",
      status: "failed",
      message: expect.stringContaining('unknown key "prot"'),
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
