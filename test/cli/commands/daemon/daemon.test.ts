import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../../../cli/main.ts";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { fakeSystem, runCli, temporaryHome, toRan } from "../../support/run-cli.ts";

const startedAt = Date.parse("2026-11-21T12:00:00Z");

async function announce(home: string, urls: readonly string[], pid = process.pid): Promise<void> {
  await writeFile(join(home, "daemon.json"), JSON.stringify({ pid, started_at: startedAt, urls }));
}

/** A home whose daemon has run and would listen at `url`. */
async function stopped(home: string, url: string): Promise<void> {
  await writeFile(join(home, "croft.lock"), "");
  await writeFile(join(home, "config.yaml"), `port: ${new URL(url).port}\n`);
}

test("the lines become options", async () => {
  expect(await optionsOf("daemon stop", ["--timeout", "5"])).toEqual({ timeout: 5 });
  expect(await optionsOf("daemon wait", [])).toEqual({ timeout: 30 });
  expect(await optionsOf("daemon logs", ["-n", "3", "-f"])).toEqual({
    lines: 3,
    follow: true,
  });
  expect(await refusalOf("daemon stop", ["--timeout", "soon"])).toMatch(/^croft: /);
});

describe("daemon status", () => {
  test("daemon status reports the daemon of this home", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "GET /readyz": { body: { status: "ready" } } });
    await announce(home.path, [daemon.url]);
    const ran = await runCli(["daemon", "status", "--json"], { home: home.path });
    expect(ran.json()).toEqual({
      running: true,
      ready: true,
      url: daemon.url,
      pid: process.pid,
      started_at: "2026-11-21T12:00:00.000Z",
      disk: null,
    });
  });

  test("tells people about the disk only when it is full", async () => {
    await using home = await temporaryHome();
    await using fine = await fakeDaemon({ "GET /readyz": { body: { status: "ready" } } });
    await using full = await fakeDaemon({
      "GET /readyz": { body: { status: "ready", disk: "full" } },
    });
    const shown = async (url: string) => {
      const ran = await runCli(["daemon", "status", "--url", url], { home: home.path });
      return ran.out;
    };
    expect(await shown(fine.url)).not.toContain("disk");
    expect(await shown(full.url)).toMatch(/disk:?\s+full/i);
  });

  test.each([
    ["http://0.0.0.0:9", "http://127.0.0.1:9"],
    ["https://[::]:9", "https://[::1]:9"],
  ])("connects to a daemon that listens on %s at %s", async (listens, address) => {
    await using home = await temporaryHome();
    await announce(home.path, [listens]);
    const ran = await runCli(["daemon", "status", "--json"], { home: home.path });
    expect(ran.error()["message"]).toContain(`cannot reach the daemon at ${address}`);
  });

  test("prints fewer fields for a remote daemon, and whether it is ready", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /readyz": { status: 503, body: { status: "not ready" } },
    });
    const ran = await runCli(["daemon", "status", "--json", "--url", daemon.url], {
      home: home.path,
    });
    expect(ran.json()).toMatchObject({ running: true, ready: false, pid: null });
  });

  test.each([{ pid: 999_999_999 }, undefined])(
    "prints that no daemon runs and exits 10, after a crash (%o) too",
    async (crashed) => {
      await using home = await temporaryHome();
      if (crashed !== undefined) await announce(home.path, ["http://127.0.0.1:9"], crashed.pid);
      await writeFile(join(home.path, "config.yaml"), "port: 9\n");
      const ran = await runCli(["daemon", "status", "--json"], { home: home.path });
      expect({ code: ran.code, out: ran.out, err: ran.err }).toEqual({
        code: 10,
        out: '{"running":false}\n',
        err: "",
      });
    },
  );

  test("exits 10 with an error when a daemon that was named does not answer", async () => {
    await using home = await temporaryHome();
    const line = ["daemon", "status", "--json", "--url", "http://127.0.0.1:9"];
    const ran = await runCli(line, { home: home.path });
    expect(ran.error()).toMatchObject({ code: "daemon_unreachable", exit_code: 10 });
  });

  test("daemon status does not take a program that answers at the daemon's address for it", async () => {
    await using home = await temporaryHome();
    await using stranger = await fakeDaemon({});
    await stopped(home.path, stranger.url);
    const ran = await runCli(["daemon", "status", "--json"], { home: home.path });
    expect(ran.json()).toEqual({ running: false });
    const shown = await runCli(["daemon", "status"], { home: home.path });
    expect(shown.err).toContain(`no daemon runs on ${home.path}`);
    expect(stranger.requests).toEqual([]);
  });
});

describe("daemon stop", () => {
  test("asks the process to end and waits for it", async () => {
    await using home = await temporaryHome();
    await announce(home.path, [], 4711);
    let alive = 4;
    const stopped: number[] = [];
    const system = {
      ...fakeSystem({ home: home.path, isProcessAlive: () => alive-- > 0 }),
      stopProcess: (pid: number) => stopped.push(pid) > 0,
    };
    const ran = toRan(await run(["daemon", "stop", "--json"], system), system);
    expect(ran.json()).toEqual({ stopped: true, pid: 4711, data: home.path });
    expect(stopped).toEqual([4711]);
  });

  test("daemon stop of a daemon that does not end exits 8", async () => {
    await using home = await temporaryHome();
    await announce(home.path, [], 4711);
    let now = startedAt;
    const ran = await runCli(["daemon", "stop", "--timeout", "3", "--json"], {
      home: home.path,
      isProcessAlive: () => true,
      now: () => (now += 1000),
    });
    expect(ran.error()).toMatchObject({
      code: "not_finished",
      exit_code: 8,
      message: "process 4711 has not ended within 3 s",
    });
  });

  test("leaves a later process alone that was given the id of a daemon that crashed", async () => {
    await using home = await temporaryHome();
    const notice = { pid: 4711, process_mark: "100", started_at: startedAt, urls: [] };
    await writeFile(join(home.path, "daemon.json"), JSON.stringify(notice));
    const signalled: number[] = [];
    const system = {
      ...fakeSystem({
        home: home.path,
        isProcessAlive: () => true,
        processMark: () => "200",
      }),
      stopProcess: (pid: number) => signalled.push(pid) > 0,
    };
    const ran = toRan(await run(["daemon", "stop", "--json"], system), system);
    expect(ran.json()).toEqual({ stopped: false, pid: null, data: home.path });
    expect(signalled).toEqual([]);
  });

  test("daemon stop without a daemon succeeds", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["daemon", "stop", "--json"], { home: home.path });
    expect(ran.json()).toEqual({ stopped: false, pid: null, data: home.path });
  });

  test("daemon stop --dry-run only reports the daemon that it would stop", async () => {
    await using home = await temporaryHome();
    await announce(home.path, []);
    const ran = await runCli(["daemon", "stop", "--dry-run", "--json"], { home: home.path });
    expect(ran.json()).toEqual({ dry_run: true, stop: { pid: process.pid, data: home.path } });
  });
});

describe("wait", () => {
  test("ends when the daemon accepts requests, wherever it turns out to listen", async () => {
    await using home = await temporaryHome();
    const notReady = { status: 503, body: {} };
    await using daemon = await fakeDaemon({ "GET /readyz": [notReady, notReady, { body: {} }] });
    await writeFile(join(home.path, "config.yaml"), "port: 9\n");
    const waiting = runCli(["daemon", "wait", "--json"], { home: home.path });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await announce(home.path, [daemon.url]);
    expect((await waiting).json()).toEqual({ ready: true, url: daemon.url });
  });

  test("daemon status sends no request while the daemon of this home does not run", async () => {
    await using home = await temporaryHome();
    await using stranger = await fakeDaemon({});
    await stopped(home.path, stranger.url);
    let now = startedAt;
    const line = ["daemon", "wait", "--timeout", "5", "--json"];
    const ran = await runCli(line, { home: home.path, now: () => (now += 1000) });
    expect(ran.error()).toMatchObject({ code: "daemon_unreachable", exit_code: 10 });
    expect(stranger.requests).toEqual([]);
  });

  test.each([
    ["no server answers", "http://127.0.0.1:9", "daemon_unreachable", 10],
    ["it is not ready", undefined, "not_finished", 8],
  ])("gives up in time when %s", async (_what, url, code, exit) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "GET /readyz": { status: 503, body: {} } });
    let now = startedAt;
    const line = ["daemon", "wait", "--timeout", "5", "--json", "--url", url ?? daemon.url];
    const ran = await runCli(line, { home: home.path, now: () => (now += 1000) });
    expect(ran.error()).toMatchObject({ code, exit_code: exit });
  });
});

const logged = [
  { level: "debug", time: "2026-11-21T10:00:00.000Z", message: "opened" },
  {
    level: "info",
    time: "2026-11-21T11:00:00.000Z",
    request_id: "r1",
    message: "answered",
    status: 200,
  },
  { level: "warn", time: "2026-11-21T11:30:00.000Z", request_id: "r1", message: "slow\u001b[31m" },
  { level: "error", time: "2026-11-21T11:50:00.000Z", request_id: "r2", message: "failed" },
];

/** A home with a log, of which the first two lines have been rotated away. */
async function homeWithLog() {
  const home = await temporaryHome();
  const path = join(home.path, "state", "daemon.log");
  await mkdir(join(home.path, "state"));
  const toText = (lines: readonly object[]) =>
    lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  await writeFile(`${path}.1`, toText(logged.slice(0, 2)));
  await writeFile(path, toText(logged.slice(2)));
  return home;
}

describe("logs", () => {
  test.each([
    [
      ["--level", "warn"],
      ["slow", "failed"],
    ],
    [
      ["--request", "r1"],
      ["answered", "slow"],
    ],
    [
      ["--since", "40m"],
      ["slow", "failed"],
    ],
    [
      ["--since", "2026-11-21T11:00:00Z", "--until", "2026-11-21T11:40:00Z"],
      ["answered", "slow"],
    ],
    [["--level", "info", "--request", "r1", "-n", "1"], ["slow"]],
    [["--level", "fatal"], []],
  ])("%j select records, those before the last rotation too", async (flags, messages) => {
    await using home = await homeWithLog();
    const ran = await runCli(["daemon", "logs", "--ndjson", ...flags], {
      home: home.path,
      now: () => startedAt,
    });
    const found = ran.out.trimEnd().split("\n").filter(Boolean);
    expect(
      found.map((line) => (JSON.parse(line) as { message: string }).message.slice(0, 8)),
    ).toEqual(messages.map((message) => expect.stringContaining(message) as string));
  });

  test("shows a record as one line that cannot move the cursor", async () => {
    await using home = await homeWithLog();
    const { out } = await runCli(["daemon", "logs", "-n", "2"], { home: home.path });
    expect(out).toBe(
      '2026-11-21T11:30:00.000Z WARN  slow request_id="r1"\n' +
        '2026-11-21T11:50:00.000Z ERROR failed request_id="r2"\n',
    );
  });

  test.each(["--level=loud", "--since=yesterday", "--until=1w"])("refuses %s", async (flag) => {
    await using home = await homeWithLog();
    const ran = await runCli(["daemon", "logs", flag], { home: home.path });
    expect(ran.code).toBe(2);
  });

  test("follows the log through a rotation", async () => {
    await using home = await homeWithLog();
    const path = join(home.path, "state", "daemon.log");
    const system = fakeSystem({ home: home.path });
    const running = run(["daemon", "logs", "-f", "-n", "0"], system);
    const until = async (text: string) => {
      while (!system.written.out().includes(text))
        await new Promise((resolve) => setTimeout(resolve, 5));
    };
    // The command has begun to follow once it prints a line that was added after its start.
    while (system.written.out() === "") {
      await writeFile(path, "before\n", { flag: "a" });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await rename(path, `${path}.1`);
    await writeFile(path, "after\n");
    await until("after");
    system.stops.send("SIGINT");
    expect(await running).toBe(130);
    expect(system.written.out()).toMatch(/^(before\n)+after\n$/);
  });

  test("prints the last lines", async () => {
    await using home = await temporaryHome();
    await mkdir(join(home.path, "state"));
    await writeFile(join(home.path, "state", "daemon.log"), "one\ntwo\nthree\n");
    expect((await runCli(["daemon", "logs", "-n", "2"], { home: home.path })).out).toBe(
      "two\nthree\n",
    );
    const { json } = await runCli(["daemon", "logs", "-n", "1", "--json"], { home: home.path });
    expect(json()).toEqual({ path: join(home.path, "state", "daemon.log"), lines: ["three"] });
  });

  test("follows new lines until it is interrupted", async () => {
    await using home = await temporaryHome();
    await mkdir(join(home.path, "state"));
    const path = join(home.path, "state", "daemon.log");
    await writeFile(path, "one\n");
    const system = fakeSystem({ home: home.path });
    const running = run(["daemon", "logs", "-f"], system);
    while (system.written.out() !== "one\n") await new Promise((resolve) => setTimeout(resolve, 5));
    await writeFile(path, "two\n", { flag: "a" });
    while (system.written.out() !== "one\ntwo\n")
      await new Promise((resolve) => setTimeout(resolve, 5));
    system.stops.send("SIGINT");
    expect(await running).toBe(130);
  });

  test("a missing log file is not found", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["daemon", "logs", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({ code: "not_found", exit_code: 6 });
  });
});
