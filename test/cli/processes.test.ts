import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { processSystem } from "../../cli/main.ts";
import { skipUnless } from "../support/skip.ts";
import { fakeDaemon } from "./support/fake-daemon.ts";
import { temporaryHome } from "./support/run-cli.ts";
import { fakeJwt, signIn } from "./support/signed-in.ts";

// Behaviour that needs real processes: locks between them, closed pipes, signals.

const entry = join(import.meta.dirname, "../../bin/entry.ts");

/** Starts a real croft from the sources. */
function start(
  words: readonly string[],
  home: string,
  stdin: "ignore" | "pipe" = "ignore",
): ChildProcess {
  const env = { PATH: process.env["PATH"], CROFT_HOME: home, CROFT_CREDENTIAL_STORE: "file" };
  return spawn(process.execPath, [entry, ...words], { env, stdio: [stdin, "pipe", "pipe"] });
}

async function endOf(
  child: ChildProcess,
): Promise<{ code: number | null; out: string; err: string }> {
  let out = "";
  let err = "";
  child.stdout?.on("data", (chunk) => (out += String(chunk)));
  child.stderr?.on("data", (chunk) => (err += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, out, err };
}

const me = {
  id: "1",
  handle: "mira",
  email: "mira@example.org",
  role: "user",
  totp_enabled: false,
  created_at: null,
};
const many = 10;
/** Each of them starts from its sources. */
const patienceMs = 240_000;

const onUnix = skipUnless(process.platform !== "win32", "needs a POSIX shell");

onUnix("a closed standard input is an error, and an empty one is not", async () => {
  await using home = await temporaryHome();
  const line = `"$0" "$1" config set mail_from --stdin --json`;
  const shell = (redirection: string) =>
    spawn("sh", ["-c", `${line} ${redirection}`, process.execPath, entry], {
      env: { PATH: process.env["PATH"], CROFT_HOME: home.path },
      stdio: ["pipe", "pipe", "pipe"],
    });
  const closed = await endOf(shell("<&-"));
  expect(closed).toMatchObject({
    code: 2,
    err: expect.stringContaining("standard input is closed"),
  });
  const empty = await endOf(shell("</dev/null"));
  expect(empty.err).not.toContain("closed");
  expect(empty.err).toContain("mail_from takes a text");
});

describe("many processes at once", { timeout: patienceMs }, () => {
  test("concurrent processes that need a new access token refresh it once and stay signed in", async () => {
    await using home = await temporaryHome();
    let used = false;
    await using daemon = await fakeDaemon({
      // A refresh token works once; its second use would end the session.
      "POST /api/auth/refresh": () => {
        if (used) return { status: 401, body: { detail: "Session revoked" } };
        used = true;
        return {
          body: { access_token: fakeJwt(Date.now() + 900_000), user: me },
          headers: { "Set-Cookie": "refresh_token=refresh-2; Max-Age=57600" },
        };
      },
      "GET /api/auth/me": { body: me },
    });
    await signIn(home.path, { url: daemon.url, vault: { access_expires_at: 0 } });
    // The lock of a process that died in the middle of it is not an obstacle.
    const lock = join(home.path, "credentials", "0123456789ab.vault.lock");
    await writeFile(lock, JSON.stringify({ pid: 999_999_999, host: hostname() }));
    const ends = await Promise.all(
      Array.from({ length: many }, () => endOf(start(["vault", "me", "--json=handle"], home.path))),
    );
    expect(ends).toEqual(ends.map(() => ({ code: 0, out: '{"handle":"mira"}\n', err: "" })));
    expect(daemon.requests.filter(({ path }) => path === "/api/auth/refresh")).toHaveLength(1);
  });
});

describe("a process", { timeout: patienceMs }, () => {
  test("a process whose reader closes the pipe ends quietly with 141", async () => {
    await using home = await temporaryHome();
    const users = Array.from({ length: 50 }, (_, id) => ({ id, login: "x".repeat(20_000) }));
    await using daemon = await fakeDaemon({
      "GET /api/v1/admin/users": { body: users, headers: { "X-Total-Count": "100000" } },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const child = start(["admin", "user", "list", "--all", "--ndjson"], home.path);
    child.stdout?.once("data", () => child.stdout?.destroy());
    let err = "";
    child.stderr?.on("data", (chunk) => (err += String(chunk)));
    const code = await new Promise((resolve) => child.on("exit", resolve));
    expect([code, err]).toEqual([141, ""]);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends with its own code on %s", async (signal, exit) => {
    await using home = await temporaryHome();
    const asked = Promise.withResolvers<void>();
    await using daemon = await fakeDaemon({
      "GET /api/v1/admin/users": () => {
        asked.resolve();
        return new Promise(() => undefined);
      },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const child = start(["admin", "user", "list"], home.path);
    const end = endOf(child);
    await asked.promise;
    child.kill(signal);
    expect(await end).toEqual({ code: exit, out: "", err: "" });
  });

  test("a process whose reader stopped reading ends after a stop signal", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/admin/users": { body: [{ id: "x".repeat(20_000_000) }] },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const child = start(["admin", "user", "list", "--json"], home.path);
    const exited = once(child, "exit");
    await once(child.stdout!, "readable");
    child.kill("SIGTERM");
    expect(await exited).toEqual([143, null]);
  });

  test("a process with an endless input ends after a stop signal", async () => {
    await using home = await temporaryHome();
    const connection = { id: "c1", display_name: "home" };
    await using daemon = await fakeDaemon({
      "GET /api/cloud/connections": {
        body: { items: [connection], total: 1, page: 1, per_page: 100 },
      },
      "GET /api/cloud/connections/c1/items": { body: { items: [], next_cursor: null } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const words = ["vault", "item", "upload", "-", "home:/y", "--progress=json"];
    const sending = start(words, home.path, "pipe");
    const exited = once(sending, "exit");
    sending.stdin?.write("begun");
    await once(sending.stderr!, "data");
    sending.kill("SIGTERM");
    expect(await exited).toEqual([143, null]);
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "whose jq expression has no end is ended by %s",
    async (signal) => {
      await using home = await temporaryHome();
      await using daemon = await fakeDaemon({
        "GET /api/v1/admin/users": {
          body: [{ id: 1 }, { id: 2 }],
          headers: { "X-Total-Count": "2" },
        },
      });
      await signIn(home.path, { url: daemon.url, forgeToken: "t" });
      const endless = "if .id == 1 then 1 else last(repeat(.)) end";
      const child = start(["admin", "user", "list", "--ndjson", "--jq", endless], home.path);
      const exited = once(child, "exit");
      await once(child.stdout!, "data");
      // The test cannot observe when the second item is computed, so it repeats the signal; an earlier one is handled
      // as everywhere.
      const asking = setInterval(() => child.kill(signal), 100);
      onTestFinished(() => clearInterval(asking));
      const [code, endedBy] = (await exited) as [number | null, string | null];
      expect([signal, 130, 143]).toContain(code ?? endedBy);
    },
  );

  test.each(["", "relative"])(
    "a process with a HOME that is not a folder (%j) takes the account's",
    async (home) => {
      const env = { PATH: process.env["PATH"], HOME: home };
      const child = spawn(process.execPath, [entry, "config", "path", "--json=data"], { env });
      const { out } = await endOf(child);
      expect(JSON.parse(out)).toEqual({
        data: join(userInfo().homedir, ".local", "share", "croft"),
      });
    },
  );

  test("a process without a home folder in its environment still runs", async () => {
    const child = spawn(process.execPath, [entry, "version", "--json=version"], { env: {} });
    expect(await endOf(child)).toMatchObject({ code: 0, err: "" });
  });
});

const onLinux = skipUnless(process.platform === "linux", "other systems have openers of their own");

const hasGnuTail =
  process.platform === "linux" &&
  spawnSync("tail", ["--version"], { encoding: "utf8" }).stdout?.includes("GNU coreutils") === true;

skipUnless(hasGnuTail, "GNU tail is not installed")(
  "following a log of one line ends when the reader closes the pipe",
  async () => {
    await using home = await temporaryHome();
    await mkdir(join(home.path, "state"), { recursive: true });
    await writeFile(
      join(home.path, "state", "daemon.log"),
      '{"time":"2026-11-21T11:00:00.000Z","level":"info","message":"only line"}\n',
    );
    const line = `"$0" "$1" daemon logs -f | head -n 1; echo "ended with \${PIPESTATUS[0]}"`;
    const env = { PATH: process.env["PATH"], CROFT_HOME: home.path };
    const shell = spawn("bash", ["-c", line, process.execPath, entry], { env });
    onTestFinished(() => void shell.kill("SIGKILL"));
    const { out } = await endOf(shell);
    expect(out).toContain("only line");
    expect(out).toContain("ended with 141");
  },
  patienceMs,
);

onLinux.describe("another process", () => {
  test("another process that has ended counts as ended, although its parent has not reaped it", async () => {
    // A shell that becomes a program which asks for no children leaves them as they end.
    const parent = spawn("sh", ["-c", "sleep 0.1 & echo $!; exec sleep 60"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [said] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(said.toString());
    const system = processSystem();
    await expect.poll(() => system.isProcessAlive(pid)).toBe(false);
    expect(system.isProcessAlive(parent.pid ?? 0)).toBe(true);
    // A check by process id alone still finds it.
    expect(process.kill(pid, 0)).toBe(true);
  });

  test("another process has a stable and unique mark", () => {
    const { pid, processMark } = processSystem();
    expect(processMark(pid)).toMatch(/^\d+$/);
    expect(processMark(pid)).toBe(processMark(pid));
    expect(processMark(1)).not.toBe(processMark(pid));
    expect(processMark(999_999_999)).toBeUndefined();
  });
});

onLinux.describe("an address for the browser", () => {
  /** Opens an address in a process with a desktop and returns the calls of the browser. */
  async function openInBrowser(address: string, desktop: string) {
    await using home = await temporaryHome();
    const opener = join(home.path, "xdg-open");
    await writeFile(opener, '#!/bin/sh\nprintf %s "$1" > "$0.part" && mv "$0.part" "$0.seen"\n', {
      mode: 0o700,
    });
    const main = join(import.meta.dirname, "../../cli/main.ts");
    const program = `import(${JSON.stringify(main)}).then(({ processSystem }) => console.log(processSystem().openBrowser(${JSON.stringify(address)})))`;
    const env = { PATH: `${home.path}:${process.env["PATH"]}`, DISPLAY: desktop };
    const { out } = await endOf(spawn(process.execPath, ["-e", program], { env }));
    if (out !== "true\n") return out;
    for (;;) {
      const opened = await readFile(`${opener}.seen`, "utf8").catch(() => undefined);
      if (opened !== undefined) return opened;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  test("an address for the browser is handed to the system's opener", async () => {
    expect(await openInBrowser("https://example.org/?a=b&c", ":0")).toBe(
      "https://example.org/?a=b&c",
    );
  });

  test.each([
    ["without a desktop", "https://example.org/", ""],
    ["that is a file", "file:///etc/passwd", ":0"],
    ["that is a program's", "vscode://x", ":0"],
  ])("%s opens nothing", async (_name, address, desktop) => {
    expect(await openInBrowser(address, desktop)).toBe("false\n");
  });
});

describe("errors that no code handles", () => {
  const mainUrl = new URL("../../cli/main.ts", import.meta.url).href;
  const watched = `
    import { open } from "node:fs/promises";
    import { processSystem } from ${JSON.stringify(mainUrl)};
    const seen = [];
    const off = processSystem().onUnhandled((error, origin) => seen.push([origin, error.message]));`;
  /** Earlier versions only print a warning. */
  const endsForFiles = Number(process.versions.node.split(".")[0]) >= 26;
  const runScript = (script: string) => {
    const words = ["--expose-gc", "--import=tsx/esm", "--input-type=module", "-e", script];
    return endOf(spawn(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] }));
  };

  test("a rejection and a collected file handle are passed on and survived", async () => {
    const ran = await runScript(`${watched}
      Promise.reject(new Error("nobody waits"));
      await (async () => void (await open(process.execPath)))();
      while (seen.length < ${endsForFiles ? 2 : 1}) {
        gc();
        await new Promise((resolve) => setImmediate(resolve));
      }
      console.log(JSON.stringify(seen.map(([origin, text]) => [origin, text.slice(0, 29)])));
      off();`);
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(ran.out)).toEqual([
      ["rejection", "nobody waits"],
      ...(endsForFiles ? [["collected_file", "A FileHandle object was close"]] : []),
    ]);
  });

  test("another uncaught error ends the process with its own message", async () => {
    const ran = await runScript(`${watched}
      setImmediate(() => { throw new TypeError("a bug"); });
      setTimeout(() => console.log("alive"), 60_000);`);
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toContain("TypeError: a bug");
  });
});
