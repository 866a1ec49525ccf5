import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { initialise, startDaemon } from "../../daemon/main.ts";
import { startTestDaemon, testInput } from "../support/daemon.ts";
import { skipUnless } from "../support/skip.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-start-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const input = (env: Record<string, string> = {}, at = home) => testInput(at, { env }, []);
const start = (env?: Record<string, string>) => startDaemon(input(env));
const first = { username: "ann", email: "ann@example.org", password: "Correct-Horse-7-Battery" };

/** Starts and stops once, so that there is something to damage. */
async function startOnce(): Promise<void> {
  await (await start()).stop();
}

describe("a home", () => {
  test("a home is initialised once; a second time changes nothing", async () => {
    const made = await initialise(input(), first);
    expect(made.vault).toEqual({ handle: "ann", email: "ann@example.org" });
    const before = await readFile(join(home, "croft.db"));
    await expect(initialise(input(), { ...first, username: "bob" })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("croft serve"),
    });
    expect((await readFile(join(home, "croft.db"))).equals(before)).toBe(true);
    await using daemon = await startTestDaemon({ home });
    expect(daemon.first).toBeUndefined();
  });

  test("refuses to start a home whose database is missing, and names the command that repairs it", async () => {
    await startOnce();
    await rm(join(home, "croft.db"));
    for (const folder of ["keys", "repositories/ann/notes.git", "packages"]) {
      await rm(join(home, "keys"), { recursive: true, force: true });
      await mkdir(join(home, folder), { recursive: true, mode: 0o700 });
      await writeFile(join(home, folder, "left"), "");
      await expect(start()).rejects.toMatchObject({
        code: "database_missing",
        message: expect.stringContaining("croft daemon restore --database latest"),
      });
      await rm(join(home, folder, "left"));
    }
    await (await start()).stop();
  });

  test("a home whose first start was interrupted after its keys were made can be started", async () => {
    await mkdir(join(home, "keys"), { mode: 0o700 });
    await writeFile(join(home, ".first-start"), "");
    await startOnce();
    await rm(join(home, "croft.db"));
    await expect(start()).rejects.toMatchObject({ code: "database_missing" });
  });

  test("a home whose first start was interrupted after its database was made does not lose it later", async () => {
    await startOnce();
    // As a kill leaves it: the database is there, and the first start has not ended.
    await writeFile(join(home, ".first-start"), "");
    await startOnce();
    await rm(join(home, "croft.db"));
    await expect(start()).rejects.toMatchObject({ code: "database_missing" });
  });

  test("a missing local root beside the home is not made, because its disk may not be mounted", async () => {
    const [inside, beside] = [join(home, "shared"), `${home}-disk/files`];
    await mkdir(`${home}-disk`);
    onTestFinished(() => rm(`${home}-disk`, { recursive: true }));
    await (await start({ CROFT_LOCAL_ROOTS: [inside, beside].join(delimiter) })).stop();
    expect((await stat(inside)).isDirectory()).toBe(true);
    await expect(stat(beside)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test.each([
    ["removed", async () => rm(join(home, "croft.db"))],
    [
      "replaced",
      async () => {
        await copyFile(join(home, "croft.db"), join(home, "other.db"));
        await rename(join(home, "other.db"), join(home, "croft.db"));
      },
    ],
  ])(
    "a home whose database is %s under the daemon is not ready and refuses writes",
    async (_what, harm) => {
      await using daemon = await startTestDaemon({
        home,
        // A job of the start that still ran cannot record its end either.
        expectErrors: ({ message }) => message === "failed to record the end of a job",
      });
      const token = daemon.first?.forge.token ?? "";
      const create = () =>
        daemon.request("/api/v1/admin/users", {
          method: "POST",
          token,
          json: { username: "mira", email: "mira@example.org", password: "Correct-Horse-7" },
        });
      expect((await daemon.request("/readyz")).status).toBe(200);
      await harm();
      expect((await daemon.request("/readyz")).status).toBe(503);
      const refused = await create();
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    },
  );

  test("a home that could not be initialised can be initialised later", async () => {
    await expect(initialise(input(), { ...first, username: "-no-name-" })).rejects.toThrow();
    expect((await initialise(input(), first)).forge.username).toBe("ann");
  });

  test.each([
    ["a password that is too short", { password: "Sh0rt-!" }, /at least 12 characters$/],
    [
      "a password that the vault would refuse",
      { password: "a long password" },
      /must have an upper-case letter, a digit$/,
    ],
    ["a password of the list of breached ones", { password: "Nick1234-Rem936" }, /data breach/],
    ["a password that no sign-in takes", { password: "Aa1-".repeat(300) }, /at most 1024 bytes/],
    ["an address that no sign-in takes", { email: "root@localhost" }, /"root@localhost" is no/],
  ])("a home is not initialised with %s", async (_what, wrong, message) => {
    await expect(initialise(input(), { ...first, ...wrong })).rejects.toMatchObject({
      code: "unprocessable",
      message: expect.stringMatching(message) as string,
    });
    expect((await initialise(input(), first)).forge.username).toBe("ann");
  });

  test("accepts a password typed with combining characters", async () => {
    const password = "Correct-Horse-7-Bu\u0308ffel";
    await initialise(input(), { ...first, password });
    await using daemon = await startTestDaemon({ home });
    const vault = await daemon.request("/api/auth/login", {
      json: { email: first.email, password },
    });
    expect(vault.status).toBe(200);
    const forge = await daemon.request("/api/v1/user", { basic: `ann:${password}` });
    expect(forge.status).toBe(200);
  });

  test("belongs to one daemon at a time; the second one's error names the owner", async () => {
    const running = await start();
    const second = start();
    await expect(second).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining(running.urls[0] ?? "no address"),
    });
    await running.stop();
    await (await start()).stop();
  });
});

describe("a start", () => {
  test("a start with a taken port reports it and releases the home", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    await expect(start({ CROFT_PORT: String(port) })).rejects.toMatchObject({
      message: expect.stringContaining("is taken") as string,
      hint: expect.stringContaining("--port") as string,
    });
    other.close();
    await (await start()).stop();
  });

  test.each([
    ["a taken port", (port: number) => ({ CROFT_PORT: String(port) })],
    ["a certificate that is not there", () => ({ CROFT_TLS: "/no/such.crt,/no/such.key" })],
    ["an address that is not ours", () => ({ CROFT_HOST: "192.0.2.1", CROFT_TLS: "self" })],
  ])(
    "a start that fails with %s creates no administrators, whose password would be lost",
    async (_what, env) => {
      const other = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => other.once("listening", resolve));
      await expect(start(env((other.address() as AddressInfo).port))).rejects.toThrow();
      other.close();
      const running = await start();
      expect(running.firstStart?.password).toMatch(/./);
      await running.stop();
    },
  );

  test("a start with work that cannot begin creates no administrators either", async () => {
    await expect(start({ CROFT_TLS: "/no/such.crt,/no/such.key" })).rejects.toThrow();
    const db = new Sqlite(join(home, "croft.db"));
    db.exec("CREATE TRIGGER full BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'no room'); END");
    await expect(start()).rejects.toThrow(/no room/);
    db.exec("DROP TRIGGER full");
    db.close();
    const running = await start();
    expect(running.firstStart?.password).toMatch(/./);
    await running.stop();
  });

  test("off loopback without TLS names both ways out", async () => {
    await expect(start({ CROFT_HOST: "0.0.0.0" })).rejects.toThrow(/--tls self.*--insecure-http/);
  });

  test("a start on an address of another machine reports it", async () => {
    await expect(start({ CROFT_HOST: "192.0.2.1", CROFT_INSECURE_HTTP: "true" })).rejects.toThrow(
      /is not an address of this machine/,
    );
  });

  test("a start on a damaged database reports it and does not change the file", async () => {
    await startOnce();
    const garbage = Buffer.alloc(8192, "not a database ");
    await writeFile(join(home, "croft.db"), garbage);
    await expect(start()).rejects.toMatchObject({ code: "corrupt" });
    expect((await readFile(join(home, "croft.db"))).equals(garbage)).toBe(true);
  });

  test("a start on the database of a later version fails with the remedy", async () => {
    await startOnce();
    const db = new Sqlite(join(home, "croft.db"));
    db.prepare(
      "INSERT INTO schema_migrations (version, name, hash, applied_at) VALUES (9999, 'later', 'x', 0)",
    ).run();
    db.close();
    await expect(start()).rejects.toThrow(/croft daemon restore/);
  });

  test("a start on a database without its master key reports it and creates no new key", async () => {
    await startOnce();
    await rm(join(home, "keys"), { recursive: true });
    await expect(start()).rejects.toThrow(/key/i);
  });

  test("a start in a folder that is missing its parent names it", async () => {
    const missing = join(home, "no", "such", "folder");
    await expect(startDaemon(input({}, missing))).rejects.toThrow(/no\/such/);
  });

  skipUnless(process.getuid?.() !== 0, "root may write into read-only folders")(
    "in a read-only folder fails with the reason",
    async () => {
      await chmod(home, 0o500);
      await expect(start()).rejects.toMatchObject({ code: "readonly" });
    },
  );
});
