import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadExamplesByLine } from "../cli/support/loaded-examples.ts";
import { composeMail } from "../../daemon/outbound/mail/compose.ts";
import { writeMail } from "../../daemon/outbound/mail/outbox.ts";
import { startS3Server } from "../stand-ins/s3-server.ts";

// The examples of commands that make homes, daemons and runners, each run by bash on one home. The examples of the other
// commands run in test/cli/examples.

const launcher = join(import.meta.dirname, "../../bin/croft.js");
const examples = await loadExamplesByLine();

/** The state of the daemon that a command needs before each of its examples. */
type Daemon = "stopped" | "running";

/** The order matters: later commands use objects that earlier ones created. */
const plan: readonly (readonly [command: string, daemon: Daemon, prepare?: Prepare])[] = [
  ["init", "stopped"],
  ["daemon start", "stopped"],
  ["daemon status", "running"],
  ["daemon wait", "running"],
  ["daemon logs", "running"],
  ["runner register", "running", withRegistrationToken],
  ["git setup", "running"],
  ["git credential", "running", withCredentialRequest],
  ["repo clone", "running", withRepository],
  ["daemon restart", "running"],
  ["daemon stop", "running"],
  ["daemon check", "stopped"],
  ["daemon gc", "stopped"],
  ["daemon backup", "stopped"],
  ["daemon restore", "stopped", withDatabaseCopy],
  ["key rotate", "stopped"],
  ["daemon recover-admin", "stopped"],
  ["mail list", "stopped", withMail],
  ["mail show", "stopped"],
  ["daemon install", "stopped"],
  ["daemon uninstall", "stopped"],
  ["install", "stopped"],
];

/** The state of the daemon after an example of a command that changes it. */
const endsWith: Readonly<Record<string, Daemon>> = {
  "daemon start": "running",
  "daemon stop": "stopped",
};

const start = "croft daemon start --port 0";

type Prepare = (home: Home) => Promise<void>;

interface Home {
  readonly path: string;
  /** The bucket of its backups. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a line in the folder of the examples' files. */
  run(line: string): Promise<{ readonly code: number | null; readonly text: string }>;
}

test("the examples of commands on a home run in order", { timeout: 300_000 }, () =>
  withHome(async (home) => {
    let present: Daemon = "stopped";
    for (const [command, daemon, prepare] of plan) {
      for (const [, line] of examples[command] ?? []) {
        if (daemon !== present) await home.run(daemon === "running" ? start : "croft daemon stop");
        await prepare?.(home);
        const { code, text } = await home.run(line);
        expect(code, `${line}\n${text}`).toBe(0);
        present = endsWith[command] ?? daemon;
      }
    }
    await home.run("croft daemon stop");
  }),
);

test("the examples of commands that run until a signal start and end", { timeout: 120_000 }, () =>
  withHome(async (home) => {
    for (const [, line] of examples["serve"] ?? [])
      expect(await startAndStop(home, line, /"event":"ready"|listens|http:/), line).toBe(0);
    await home.run(start);
    await home.run("croft runner register --labels host:host");
    for (const [, line] of examples["runner run"] ?? [])
      expect(await startAndStop(home, line, /waits for jobs/), line).toBe(0);
    await home.run("croft daemon stop");
  }),
);

async function withHome(work: (home: Home) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), "croft-examples-"));
  const folder = join(path, "work");
  await mkdir(folder);
  const bin = join(path, "bin");
  await mkdir(bin);
  const programs = {
    croft: `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`,
    systemctl: "#!/bin/sh\nexit 0\n",
  };
  for (const [name, text] of Object.entries(programs))
    await writeFile(join(bin, name), text, { mode: 0o755 });
  const files = {
    "password.txt": "Correct horse battery staple 7\n",
    "passphrase.txt": "a long passphrase of the backup\n",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const server = await startS3Server();
  const env = {
    CROFT_BACKUP_URL: `s3://${server.bucket}/laptop?endpoint=${server.origin}`,
    CROFT_BACKUP_ACCESS_KEY_ID: server.key.id,
    CROFT_BACKUP_SECRET_ACCESS_KEY: server.key.secret,
  };
  const home: Home = {
    path,
    env,
    run: async (line) => {
      const child = runBash(home, line);
      let text = "";
      child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
      const [code] = (await once(child, "close")) as [number | null];
      return { code, text };
    },
  };
  try {
    await work(home);
  } finally {
    await home.run("croft daemon stop");
    await rm(path, { recursive: true, force: true });
    await server[Symbol.asyncDispose]();
  }
}

function runBash({ path, env }: Home, line: string) {
  return spawn("bash", ["-o", "pipefail", "-c", line], {
    cwd: join(path, "work"),
    env: {
      PATH: `${join(path, "bin")}:${process.env["PATH"]}`,
      HOME: path,
      CROFT_HOME: join(path, "home"),
      CROFT_KEY_SOURCE: "file",
      CROFT_CREDENTIAL_STORE: "file",
      CROFT_BREACH_URL: "off",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Starts a line, stops it with SIGTERM when it has said that it runs, and returns its exit code. */
async function startAndStop(home: Home, line: string, ready: RegExp): Promise<number | null> {
  // `exec`: the signal goes to croft, not to the shell.
  const child = runBash(home, `exec ${line}`);
  let text = "";
  const isReady = new Promise<void>((resolve) => {
    const read = (chunk: Buffer) => {
      text += chunk.toString();
      if (ready.test(text)) resolve();
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
  });
  const ended = once(child, "close") as Promise<[number | null]>;
  await Promise.race([isReady, ended]);
  child.kill("SIGTERM");
  const [code] = await ended;
  return code;
}

async function withRegistrationToken(home: Home): Promise<void> {
  await home.run("croft runner token --jq .token > token.txt");
}

async function withCredentialRequest({ path }: Home): Promise<void> {
  await writeFile(join(path, "work", "request.txt"), "protocol=https\nhost=croft.example.org\n\n");
}

async function withRepository(home: Home): Promise<void> {
  await home.run("croft repo create notes --init --readme Default");
}

async function withDatabaseCopy({ path }: Home): Promise<void> {
  const backups = join(path, "home", "backups");
  await mkdir(backups, { recursive: true });
  await cp(join(path, "home", "croft.db"), join(backups, "croft-20261120-033000.db"));
}

async function withMail({ path }: Home): Promise<void> {
  const folders = { outbox: join(path, "home", "outbox"), tmp: join(path, "home", "tmp") };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
  const mail = await composeMail(
    { to: "mira@example.org", subject: "Your password on croft", text: "Choose one." },
    { id: "m20", from: "croft <croft@localhost>", date: new Date(Date.UTC(2026, 10, 20)) },
  );
  if (mail !== undefined) await writeMail(folders, mail);
}

test("every command that test/cli/examples leaves out is here", () => {
  const here = new Set([...plan.map(([command]) => command), "serve", "runner run"]);
  const left = Object.keys(examples).filter((line) =>
    /^(?:init|serve|daemon |key |mail |install|runner register|runner run|git |repo clone)/.test(
      line,
    ),
  );
  expect(left.filter((line) => !here.has(line))).toEqual([]);
});
