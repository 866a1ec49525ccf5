import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  countPoolThreads,
  croftJson,
  findBlockSetting,
  runCroft,
  type CroftCommand,
} from "../support/croft.ts";

// Processes of their own: a daemon that outlives the command that started it.

const SLOW_MS = 180_000;
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

interface Started {
  readonly pid: number;
  readonly urls: readonly string[];
  readonly log: string;
  readonly first_start: { readonly password_file: string } | null;
}

async function withHome(work: (home: string) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "croft-start-"));
  try {
    await work(home);
  } finally {
    await runCroft(command, ["daemon", "stop"], { home });
    await rm(home, { recursive: true, force: true });
  }
}

const BLOCKS = "MALLOC_MMAP_THRESHOLD_=4194304";

test(
  "starts a daemon that stays, ignores SIGUSR1, refuses a second one and starts it again",
  { timeout: SLOW_MS },
  () =>
    withHome(async (home) => {
      const started = await croftJson<Started>(command, ["daemon", "start", "--port", "0"], {
        home,
      });
      expect((await fetch(`${started.urls[0]}/readyz`)).status).toBe(200);
      // Commits have threads left while calls of a storage hang.
      expect([16, undefined]).toContain(await countPoolThreads(started.pid));
      // Otherwise each of them would keep the memory of a hashed password.
      expect([BLOCKS, undefined]).toContain(await findBlockSetting(started.pid));
      // Node would open its debugger and write its address to standard error.
      process.kill(started.pid, "SIGUSR1");
      expect(started.log).toBe(join(home, "state", "daemon.log"));
      const passwordFile = started.first_start?.password_file ?? "";
      expect((await stat(passwordFile)).mode & 0o777).toBe(0o600);

      const second = await runCroft(command, ["daemon", "start", "--port", "0", "--json"], {
        home,
      });
      expect({ code: second.code, out: second.stdout }).toEqual({ code: 7, out: "" });
      expect(JSON.parse(second.stderr)).toMatchObject({ error: { code: "already_running" } });

      expect(await readFile(join(home, "state", "daemon.err"), "utf8")).toBe("");

      const again = await croftJson<Started>(command, ["daemon", "restart"], { home });
      // The flag of the start is kept: the default port may be another daemon's.
      expect(again.urls.join(" ")).not.toContain(":7420");
      expect(again.pid).not.toBe(started.pid);
      expect(again.first_start).toBeNull();
      const status = await croftJson<object>(command, ["daemon", "status"], { home });
      expect(status).toMatchObject({ running: true, ready: true, pid: again.pid });

      const lines = (await readFile(started.log, "utf8")).trimEnd().split("\n");
      expect(lines.map((line) => typeof JSON.parse(line))).not.toContain("string");
      expect(await readFile(join(home, "state", "daemon.err"), "utf8")).toBe("");
    }),
);

test("reports the failure of a start with its own code", { timeout: SLOW_MS }, () =>
  withHome(async (home) => {
    await writeFile(join(home, "croft.db"), "no database");
    const ran = await runCroft(command, ["daemon", "start", "--port", "0", "--json"], { home });
    expect(ran.code).toBe(17);
    expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: "storage_unusable" } });
    const logged = await runCroft(command, ["daemon", "logs", "--level", "fatal"], { home });
    expect(logged.stdout).toContain("failed to start");
    expect(logged.stdout).toContain("master.json");
  }),
);

test("a followed log ends with its reader", { timeout: SLOW_MS }, () =>
  withHome(async (home) => {
    const log = join(home, "state", "daemon.log");
    await mkdir(join(home, "state"), { mode: 0o700 });
    await writeFile(log, "first\nsecond\n");
    const [program, script = ""] = command;
    const shell = spawn("sh", ["-c", '"$0" "$1" daemon logs -f | head -n 1', program, script], {
      env: { PATH: process.env["PATH"], HOME: home, CROFT_HOME: home },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let text = "";
    shell.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    // A loaded machine may end `head` late; the next line of the log finds that out.
    const writing = setInterval(() => appendFileSync(log, "next\n"), 1_000);
    expect(await once(shell, "close")).toEqual([0, null]);
    clearInterval(writing);
    expect(text).toBe("first\n");
  }),
);
