import { execFileSync } from "node:child_process";
import { access, chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createServiceNotifier,
  fromFileBytes,
  toFileBytes,
  toServiceFile,
  toSystemService,
} from "../../../../cli/support/service-files.ts";
import { skipUnless } from "../../../support/skip.ts";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

let home: Awaited<ReturnType<typeof temporaryHome>>;
const hasAnalyze = skipUnless(canAnalyze(), "no systemd-analyze that verifies user units");

beforeEach(async () => {
  home = await temporaryHome();
});
afterEach(() => home[Symbol.asyncDispose]());

/** Runs a line with a systemctl that records its words. */
async function run(
  words: readonly string[],
  options: {
    readonly platform?: NodeJS.Platform;
    readonly script?: string;
    readonly loginctl?: string;
    readonly userId?: number;
    readonly program?: readonly [string, ...string[]];
  } = {},
) {
  const bin = join(home.path, "bin");
  await mkdir(bin, { recursive: true });
  const scripts = { systemctl: options.script ?? "", loginctl: options.loginctl ?? "" };
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(bin, name), `#!/bin/sh\necho "$@" >> "$0.log"\n${script}`);
    await chmod(join(bin, name), 0o755);
  }
  return runCli(["daemon", ...words, "--json"], {
    home: home.path,
    program: ["/opt/a croft"],
    env: { PATH: `${bin}:/usr/bin:/bin` },
    ...options,
  });
}

const unitPath = () => join(home.path, ".config", "systemd", "user", "croft.service");
const systemctlLog = () => readFile(join(home.path, "bin", "systemctl.log"), "utf8");

test("flags become options", async () => {
  expect(await optionsOf("daemon install", [])).toEqual({ start: true });
  expect(await optionsOf("daemon install", ["--no-start"])).toEqual({ start: false });
  expect(await optionsOf("daemon uninstall", ["--system"])).toEqual({ system: true });
});

test("writes a systemd unit for this home, starts it, and removes it again", async () => {
  const ran = await run(["install", "--yes"]);
  expect({ code: ran.code, value: ran.json() }).toEqual({
    code: 0,
    value: { installed: true, file: unitPath(), started: true, starts_at_boot: true, key: null },
  });
  const unit = await readFile(unitPath(), "utf8");
  expect(unit).toContain(`ExecStart="/opt/a croft" serve --background --home=${home.path}\n`);
  expect(unit).toContain("Type=notify\n");
  expect(await systemctlLog()).toBe(
    "--user show --property=Version\n--user daemon-reload\n--user enable --now croft.service\n",
  );
  expect(await readFile(join(home.path, "bin", "loginctl.log"), "utf8")).toBe("enable-linger\n");

  expect((await run(["uninstall", "--yes"])).code).toBe(0);
  await expect(access(unitPath())).rejects.toThrow("ENOENT");
  expect(await systemctlLog()).toContain("--user disable --now croft.service\n");
  expect((await run(["uninstall", "--yes"])).code).toBe(6);
});

test("daemon start runs the installed service of this home, and reports its daemon", async () => {
  await using daemon = await fakeDaemon({ "GET /readyz": { body: { status: "ready" } } });
  await run(["install", "--yes", "--no-start"]);
  const notice = { pid: process.pid, started_at: 1, urls: [daemon.url] };
  const noticePath = join(home.path, "daemon.json");
  const script = `echo '${JSON.stringify(notice)}' > '${noticePath}'`;
  const started = await run(["start"], { script });
  expect(started.json()).toMatchObject({ started: true, pid: process.pid, urls: [daemon.url] });
  expect(await systemctlLog()).toBe("--user start croft.service\n");
  await rm(noticePath);

  const refused = await run(["start"], { script: "echo the unit is masked >&2; exit 1" });
  expect(refused.error()["message"]).toContain("the unit is masked");
});

test("daemon start leaves the service of another home alone", async () => {
  await using other = await temporaryHome();
  await run(["install", "--yes", "--no-start"]);
  const dry = await runCli(["daemon", "start", "--dry-run", "--json", "--home", other.path], {
    home: home.path,
    program: ["/opt/a croft"],
  });
  expect(dry.json()).toMatchObject({ start: { data: other.path } });
});

test("explains a master key in the keyring", async () => {
  await mkdir(join(home.path, "keys"));
  await writeFile(join(home.path, "keys", "master.json"), '{"source":"keyring"}');
  const ran = await run(["install", "--yes", "--no-start"]);
  expect(ran.json()).toMatchObject({ started: false, key: expect.stringContaining("keyring") });
});

test("asks for confirmation before it writes, and only prints with --dry-run", async () => {
  expect((await run(["install"])).code).toBe(2);
  const dry = await run(["install", "--dry-run"]);
  expect(dry.out).toContain("[Service]");
  await expect(access(unitPath())).rejects.toThrow("ENOENT");
});

test("refuses a system without a known service manager", async () => {
  expect((await run(["install", "--yes"], { platform: "freebsd" })).code).toBe(15);
});

test("macOS gets a launch agent and Windows a task, with words that their programs read again", () => {
  const program = { words: ["/a & b", 'say "hi"\\'], env: { PATH: "/bin" }, errorLog: "/e" };
  const user = { homeDirectory: "/home/mira", userId: 501, env: {} };
  const agent = toServiceFile({ ...user, platform: "darwin" }, program);
  expect(agent?.path).toBe("/home/mira/Library/LaunchAgents/croft.daemon.plist");
  expect(agent?.text).toContain("<string>/a &amp; b</string>");
  expect(agent?.start).toEqual([["launchctl", "bootstrap", "gui/501", agent?.path]]);
  const account = { USERDOMAIN: "DESK", USERNAME: "Mira" };
  const task = toServiceFile({ ...user, env: account, platform: "win32" }, program);
  expect(task?.text).toContain("<Command>/a &amp; b</Command>");
  expect(task?.text).toContain("<Arguments>&quot;say \\&quot;hi\\&quot;\\\\&quot;</Arguments>");
  // The Task Scheduler refuses UTF-8, and without an administrator a trigger for all users.
  expect(task?.text).toContain("<Enabled>true</Enabled><UserId>DESK\\Mira</UserId></LogonTrigger>");
  const bytes = toFileBytes(task!);
  expect(bytes.subarray(0, 4).toString("hex")).toBe("fffe3c00");
  expect(fromFileBytes(task!, bytes)).toContain(task?.command);
});

hasAnalyze.test(
  "systemd-analyze accepts the unit, whatever characters its paths have",
  async () => {
    const path = join(home.path, "croft.service");
    const program = join(home.path, "cro%ft $HOME");
    await writeFile(program, "#!/bin/sh\n");
    await chmod(program, 0o755);
    const service = toServiceFile(
      { platform: "linux", homeDirectory: home.path, userId: 1, env: {} },
      { words: [program, 'a "quoted" \\ word'], env: { PATH: "/bin" }, errorLog: "" },
    );
    await writeFile(path, service?.text ?? "");
    expect(verify(path)).toBe("");
    await writeFile(path, toSystemService("/srv/my croft", { words: [program] }).text);
    expect(verify(path)).toBe("");
  },
);

test("reports readiness and watchdog pings to systemd", () => {
  vi.useFakeTimers();
  try {
    const notified: (readonly string[])[] = [];
    const notify = (words: readonly string[]) => void notified.push(words);
    const env = { NOTIFY_SOCKET: "/run/n", WATCHDOG_USEC: "4000000" };
    const notifier = createServiceNotifier({ env, pid: 7 }, notify);
    notifier.ready();
    vi.advanceTimersByTime(4_000);
    notifier.stopping();
    vi.advanceTimersByTime(60_000);
    expect(notified).toEqual([
      ["--ready", "--pid=7"],
      ["WATCHDOG=1"],
      ["WATCHDOG=1"],
      ["STOPPING=1"],
    ]);
    createServiceNotifier({ env: {}, pid: 7 }, notify).ready();
    expect(notified).toHaveLength(4);
  } finally {
    vi.useRealTimers();
  }
});

function verify(path: string): string {
  return execFileSync("sh", ["-c", 'systemd-analyze --user verify --man=no "$0" 2>&1', path], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], XDG_RUNTIME_DIR: home.path, HOME: home.path },
  });
}

function canAnalyze(): boolean {
  try {
    execFileSync("systemd-analyze", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test("each home of a user has a service of its own, which the others leave alone", async () => {
  await using other = await temporaryHome();
  const at = (words: readonly string[], path: string) =>
    runCli(["daemon", ...words, "--json", "--home", path], {
      home: home.path,
      program: ["/opt/a croft"],
      workingDirectory: other.path,
    });
  expect((await run(["install", "--yes", "--no-start"])).code).toBe(0);
  // A relative home is written as an absolute one.
  const second = await at(["install", "--yes", "--no-start"], "./");
  const { file } = second.json() as { file: string };
  expect(file).toMatch(/systemd\/user\/croft-[0-9a-f]{8}\.service$/);
  expect(await readFile(file, "utf8")).toContain(` --home=${other.path}\n`);
  expect(await readFile(unitPath(), "utf8")).toContain(` --home=${home.path}\n`);
  // A third home has none to remove.
  await using third = await temporaryHome();
  expect((await at(["uninstall", "--yes"], third.path)).code).toBe(6);
  expect((await at(["uninstall", "--yes"], other.path)).json()).toMatchObject({ file });
  await expect(access(file)).rejects.toThrow("ENOENT");
  await access(unitPath());
  // A later version of the program replaces the service of its home.
  const again = await runCli(["daemon", "install", "--yes", "--no-start", "--json"], {
    home: home.path,
    program: ["/opt/newer croft"],
  });
  expect(again.json()).toMatchObject({ file: unitPath() });
});

test("without a service manager to talk to, an install leaves nothing behind", async () => {
  const script = "echo 'Failed to connect to bus: No medium found' >&2; exit 1";
  const refused = await run(["install", "--yes"], { script });
  expect(refused.code).toBe(15);
  expect(refused.err).toContain("Failed to connect to bus");
  expect(refused.err).toContain("--system");
  await expect(access(join(home.path, ".config", "systemd"))).rejects.toThrow("ENOENT");
});

test("an install that the service manager refuses leaves no unit, and a former one as it was", async () => {
  const script = '[ "$2" = show ] || { echo "the unit is masked" >&2; exit 1; }';
  const refused = await run(["install", "--yes"], { script });
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("the unit is masked");
  expect(refused.err).toContain("daemon start");
  await expect(access(unitPath())).rejects.toThrow("ENOENT");
  await run(["install", "--yes", "--no-start"]);
  await writeFile(unitPath(), `${await readFile(unitPath(), "utf8")}# mine\n`);
  expect((await run(["install", "--yes"], { script })).code).toBe(1);
  expect(await readFile(unitPath(), "utf8")).toContain("# mine\n");
});

test("where lingering takes an administrator, the install says when the daemon starts", async () => {
  const ran = await run(["install", "--yes"], { loginctl: "exit 1" });
  expect(ran.json()).toMatchObject({ started: true, starts_at_boot: false });
  expect(ran.err).toContain("loginctl enable-linger");
});

test("doctor tells whether the service starts by itself", async () => {
  const finding = async (script: string) => {
    const ran = await run(["install", "--yes", "--no-start"]);
    expect(ran.code).toBe(0);
    await writeFile(join(home.path, "bin", "systemctl"), `#!/bin/sh\n${script}`);
    const report = await runCli(["doctor", "--json"], {
      home: home.path,
      program: ["/opt/a croft"],
      env: { PATH: `${join(home.path, "bin")}:/usr/bin:/bin`, USER: "no-such-user" },
    });
    const findings = report.json() as { check: string; status: string; hint: string | null }[];
    return findings.find(({ check }) => check === "service");
  };
  expect(await finding('[ "$2" != is-enabled ]')).toMatchObject({
    status: "warning",
    hint: expect.stringContaining("daemon install"),
  });
  expect(await finding("echo no bus >&2; exit 1")).toMatchObject({
    status: "warning",
    message: expect.stringContaining("not known"),
  });
  expect(await finding("exit 0")).toMatchObject({
    status: "warning",
    hint: expect.stringContaining("enable-linger no-such-user"),
  });
});

describe("a service of the whole machine", () => {
  const install = ["install", "--system", "--dry-run"];
  test("is a unit with an account and a home of its own", async () => {
    const dry = await runCli(["daemon", ...install, "--json"], {
      home: home.path,
      program: ["/usr/local/bin/croft"],
    });
    expect(dry.json()).toMatchObject({
      write: { file: "/etc/systemd/system/croft.service" },
      run: [
        ["systemd-sysusers", "--inline", 'u croft - "croft" /var/lib/croft'],
        ["systemctl", "daemon-reload"],
        ["systemctl", "enable", "--now", "croft.service"],
      ],
    });
    expect(dry.out).toContain("--home=/var/lib/croft");
    expect(dry.out).toContain("StateDirectory=croft");
  });

  test("is refused to others than root, and for a program in the home of a user", async () => {
    const words = ["install", "--system", "--yes"];
    const other = await run(words, { userId: 1_000, program: ["/usr/local/bin/croft"] });
    expect(other.err).toContain("only root");
    const hidden = await run(words, { userId: 0, program: ["/home/mira/.local/bin/croft"] });
    expect(hidden.err).toContain("/usr/local/bin");
    expect([other.code, hidden.code]).toEqual([2, 2]);
  });
});
