import { readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../../cli/main.ts";
import { optionsOf } from "../support/parse-line.ts";
import { type FakeSystem, fakeSystem, runCli, temporaryHome } from "../support/run-cli.ts";

test("the line becomes settings, and only those of the line", async () => {
  const line = [
    "--host",
    "::1",
    "--port",
    "0",
    "--tls",
    "self",
    "--insecure-http",
    "--log-level",
    "warn",
  ];
  expect(await optionsOf("serve", line)).toEqual({
    host: "::1",
    port: "0",
    tls: "self",
    insecureHttp: true,
    logLevel: "warn",
  });
  expect(await optionsOf("serve", [])).toEqual({});
});

/** A daemon served in this process until `work` is done, and the exit code it ends with. */
async function served(
  words: readonly string[],
  work: (system: FakeSystem) => Promise<void>,
  home: string,
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const system = fakeSystem({ home, env });
  const running = run(["serve", "--port", "0", ...words], system);
  let ended: number | undefined;
  void running.then((code) => (ended = code));
  while (system.written.out() === "" && ended === undefined)
    await new Promise((resolve) => setTimeout(resolve, 10));
  if (ended !== undefined) throw new Error(`serve ended with ${ended}: ${system.written.err()}`);
  try {
    await work(system);
  } finally {
    system.stops.send("SIGTERM");
  }
  return running;
}

describe("serve", () => {
  test("serve of a new home makes it, writes the password to a private file, and stops with 0", async () => {
    await using home = await temporaryHome();
    let first = "";
    const code = await served(
      ["--json"],
      async (system) => {
        const [line = "", ...rest] = system.written.out().split("\n");
        expect(rest).toEqual([""]);
        const ready = JSON.parse(line) as {
          urls: string[];
          first_start: { password: null; password_file: string };
        };
        expect(ready).toMatchObject({
          event: "ready",
          pid: process.pid,
          first_start: { home: home.path },
        });
        expect(ready.urls[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
        const file = ready.first_start.password_file;
        expect([ready.first_start.password, statSync(file).mode & 0o777]).toEqual([null, 0o600]);
        first = readFileSync(file, "utf8").trim();
        const who = await runCli(["whoami", "--json"], { home: home.path });
        expect(who.json()).toMatchObject({ url: ready.urls[0], forge: { is_admin: true } });
        const second = await runCli(["serve", "--port", "0", "--json"], { home: home.path });
        expect(second).toMatchObject({ code: 7, out: "" });
        expect(second.error()).toMatchObject({ code: "already_running" });
        expect(second.error()["message"]).toContain(String(process.pid));
      },
      home.path,
    );
    expect(code).toBe(0);
    const log = await readFile(join(home.path, "state", "daemon.log"), "utf8");
    expect(log).toContain("croft is ready");
    expect(log).not.toContain(first);
    expect(
      await served(
        [],
        async (system) => {
          expect(system.written.out()).toMatch(/^croft listens on http:\/\/127\.0\.0\.1:\d+\n$/);
        },
        home.path,
      ),
    ).toBe(0);
  });

  test.each([
    [{}, "  croft login vault --email keeper@croft.localhost"],
    [{ npm_lifecycle_event: "start" }, "  npx croft login vault --email keeper@croft.localhost"],
  ])(
    "serve of a new home prints the next command, as it can be typed with %j",
    async (env, line) => {
      await using home = await temporaryHome();
      await served(
        [],
        async (system) => expect(system.written.out().split("\n")).toContain(line),
        home.path,
        env,
      );
    },
  );

  test("serve of a new named home repeats its name in the suggested commands", async () => {
    await using home = await temporaryHome();
    const named = join(home.path, "Mira's home");
    const quoted = `'${home.path}/Mira'\\''s home'`;
    await served(
      ["--home", named],
      async (system) =>
        expect(system.written.out()).toContain(`  croft --home ${quoted} admin user list\n`),
      home.path,
    );
  });

  test.each([
    [["--port", "many"], 2, "invalid_config", "--port takes a whole number"],
    [["--tls", "/no/such.crt,/no/such.key"], 2, "invalid_config", "/no/such.crt cannot be read"],
    [["--host", "0.0.0.0"], 2, "usage", "plain http would send passwords in the clear"],
  ])("refuses %j", async (words, exit, code, message) => {
    await using home = await temporaryHome();
    const ran = await runCli(["serve", ...words, "--json"], { home: home.path });
    expect(ran).toMatchObject({ code: exit, out: "" });
    expect(ran.error()).toMatchObject({ code });
    expect(ran.error()["message"]).toContain(message);
  });

  test.each([
    [{ CROFT_OBJECTS_URL: "s3://key:s3cret@bucket" }, "CROFT_OBJECTS_URL takes s3://BUCKET"],
    [{ CROFT_OBJECTS_URL: "s3://bucket" }, "CROFT_OBJECTS_SECRET_ACCESS_KEY"],
  ])(
    "refuses a bucket that it has no key of, and keys where they do not belong: %j",
    async (env, message) => {
      await using home = await temporaryHome();
      const ran = await runCli(["serve", "--json"], { home: home.path, env });
      expect(ran).toMatchObject({ code: 2, out: "" });
      expect(ran.error()["message"]).toContain(message);
      expect(ran.err).not.toContain("s3cret");
    },
  );

  test("serve exits 11 when the server of the bucket does not answer", async () => {
    await using home = await temporaryHome();
    const env = {
      CROFT_OBJECTS_URL: "s3://bucket?endpoint=http://127.0.0.1:9",
      CROFT_OBJECTS_ACCESS_KEY_ID: "id",
      CROFT_OBJECTS_SECRET_ACCESS_KEY: "s3cret",
    };
    const ran = await runCli(["serve", "--json"], { home: home.path, env });
    expect(ran).toMatchObject({ code: 11, out: "" });
    expect(ran.error()).toMatchObject({
      code: "provider_offline",
      message: expect.stringContaining("objects_url (CROFT_OBJECTS_URL) cannot be used"),
    });
    expect(ran.err).not.toContain("s3cret");
  });

  test("serve on a taken port exits 7 and names the flag for another", async () => {
    await using home = await temporaryHome();
    await using other = await temporaryHome();
    await served(
      ["--json"],
      async (system) => {
        const { urls } = JSON.parse(system.written.out()) as { urls: string[] };
        const { port } = new URL(urls[0] ?? "");
        const ran = await runCli(["serve", "--port", port, "--json"], { home: other.path });
        expect(ran.error()).toMatchObject({
          code: "already_running",
          exit_code: 7,
          hint: expect.stringContaining("--port"),
        });
      },
      home.path,
    );
  });
});
