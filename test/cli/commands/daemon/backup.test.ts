import { createReadStream } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run } from "../../../../cli/main.ts";
import { startDaemon } from "../../../../daemon/main.ts";
import { startS3Server } from "../../../stand-ins/s3-server.ts";
import { fillServedHome, testInput } from "../../../support/daemon.ts";
import { fakeSystem, runCli, temporaryHome } from "../../support/run-cli.ts";

const passphrase = "long passphrase of the backup";
const longName = `${"a".repeat(120)}.bin`;

let source: Awaited<ReturnType<typeof temporaryHome>>;
let archive: string;

const line = (home: string, words: readonly string[], stdin?: string) =>
  runCli(["daemon", ...words, "--json"], {
    home,
    env: { CROFT_KEY_SOURCE: "file" },
    ...(stdin === undefined ? {} : { stdin }),
  });

// One home, backed up while its daemon serves it.
beforeAll(async () => {
  source = await temporaryHome();
  const repository = join(source.path, "repositories", "mira", "notes.git");
  const running = await startDaemon(testInput(source.path, {}, []));
  addUnfinishedUpload(join(source.path, "croft.db"));
  try {
    await mkdir(join(repository, "refs", "heads"), { recursive: true });
    await writeFile(join(repository, "HEAD"), "ref: refs/heads/main\n");
    await writeFile(join(source.path, "packages", longName), Buffer.alloc(3_000_000, 7));
    await writeFile(join(source.path, "cache", "cached"), "not backed up");
    await writeFile(join(source.path, "uploads", "unfinished"), "not backed up");
    await writeFile(join(source.path, "config.yaml"), "log_level: warn\n");
    archive = join(source.path, "home.tar");
    const words = ["backup", archive, "--with-keys", "--passphrase-stdin"];
    const ran = await line(source.path, words, passphrase);
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    expect(ran.json()).toMatchObject({ backed_up: true, keys: true, file: archive });
  } finally {
    await running.stop();
  }
}, 120_000);
afterAll(() => source[Symbol.asyncDispose]());

/** The row of an upload whose bytes no backup holds. */
function addUnfinishedUpload(database: string): void {
  const connection = new Sqlite(database);
  connection.exec(
    `INSERT INTO vault_connections (id, user_id, provider, display_name, settings, credentials, status, generation, created_at)
     SELECT 'c', id, 'webdav', 'mine', '{}', '', 'connected', 0, 0 FROM vault_users LIMIT 1;
     INSERT INTO vault_uploads (id, connection_id, user_id, parent_ref, name, size, fingerprint, created_at, expires_at)
     SELECT 'unfinished', 'c', id, '', 'large.bin', 9, 'f', 0, 0 FROM vault_users LIMIT 1`,
  );
  connection.close();
}
const restore = (home: string, file: string, words: readonly string[] = [], stdin?: string) =>
  line(home, ["restore", file, "--yes", ...words], stdin);

/** A home with something to lose. */
async function otherHome() {
  const home = await temporaryHome();
  await fillServedHome(home.path);
  await writeFile(join(home.path, "packages", "mine"), "mine");
  await writeFile(join(home.path, "uploads", "mine"), "part of mine");
  return home;
}

async function contentOf(home: string): Promise<unknown> {
  return {
    database: (await readFile(join(home, "croft.db"))).toString("base64"),
    names: (await readdir(home)).toSorted(),
    mine: await readFile(join(home, "packages", "mine"), "utf8"),
  };
}

describe("daemon backup", () => {
  test("refuses to overwrite a file and to back up a folder that is not a home", async () => {
    expect((await line(source.path, ["backup", archive])).error()).toMatchObject({
      code: "conflict",
    });
    await using empty = await temporaryHome();
    const file = join(empty.path, "a.tar");
    expect((await line(empty.path, ["backup", file])).error()).toMatchObject({ code: "not_found" });
    expect(await readdir(empty.path)).toEqual([]);
  });

  test("refuses a short passphrase for the keys, and writes nothing", async () => {
    const file = join(source.path, "short.tar");
    const words = ["backup", file, "--with-keys", "--passphrase-stdin"];
    expect((await line(source.path, words, "eleven long")).error()).toMatchObject({
      code: "invalid",
      exit_code: 12,
      message: "the passphrase must have at least 12 characters",
    });
    expect(await readdir(source.path)).not.toContain("short.tar");
  });

  test("leaves nothing temporary behind, and the archive is private", async () => {
    expect(await readdir(join(source.path, "tmp"))).toEqual([]);
    expect((await stat(archive)).mode & 0o777).toBe(0o600);
  });

  test("writes the archive of a stopped home to standard output, without keys", async () => {
    const ran = await runCli(["daemon", "backup", "-"], { home: source.path });
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("MANIFEST.sha256");
    expect(ran.out).not.toContain("keys.sealed");
    expect(ran.err).toContain("Backed up");
  });
});

describe("daemon restore of a backup", () => {
  test("restores a home that starts, with its keys, and keeps the old one", async () => {
    await using home = await otherHome();
    const words = ["--with-keys", "--passphrase-stdin"];
    const ran = await restore(home.path, archive, words, passphrase);
    expect(ran.json()).toMatchObject({ restored: true, keys: "restored", data: home.path });
    const { kept } = ran.json() as { kept: string };
    expect(await readFile(join(kept, "packages", "mine"), "utf8")).toBe("mine");
    expect(await readFile(join(home.path, "packages", longName))).toEqual(
      Buffer.alloc(3_000_000, 7),
    );
    const notes = join(home.path, "repositories", "mira", "notes.git");
    expect(await readFile(join(notes, "HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
    expect(await readdir(join(notes, "refs"))).toEqual(["heads"]);
    expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe("log_level: warn\n");
    expect(await readdir(join(home.path, "cache"))).not.toContain("cached");
    expect(await readFile(join(kept, "uploads", "mine"), "utf8")).toBe("part of mine");
    expect(await readdir(home.path)).not.toContain("uploads");
    const restored = new Sqlite(join(home.path, "croft.db"), { readonly: true });
    expect(restored.prepare("SELECT count(*) FROM vault_uploads").pluck().get()).toBe(0);
    restored.close();
    const running = await startDaemon(testInput(home.path, {}, []));
    expect(running.firstStart).toBeUndefined();
    await running.stop();
  });

  test("keeps no previous contents of an empty home", async () => {
    await using home = await temporaryHome();
    const ran = await restore(home.path, archive);
    expect(ran.json()).toMatchObject({ restored: true, kept: null });
    expect((await readdir(home.path)).filter((name) => name.startsWith("replaced-"))).toEqual([]);
  });

  test("refuses a wrong passphrase, and replaces nothing", async () => {
    await using home = await otherHome();
    const before = await contentOf(home.path);
    const words = ["--with-keys", "--passphrase-stdin"];
    const ran = await restore(home.path, archive, words, "another passphrase");
    expect(ran.error()).toMatchObject({ exit_code: 17 });
    expect(ran.error()["message"]).toMatch(/do not open with this passphrase/);
    expect(await contentOf(home.path)).toEqual(before);
  });

  test.each([0.02, 0.3, 0.6, 0.9])("refuses a byte flipped at %f of it", async (part) => {
    await using home = await otherHome();
    const before = await contentOf(home.path);
    const bytes = await readFile(archive);
    const at = Math.floor(bytes.byteLength * part);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    const damaged = join(source.path, `damaged-${part}.tar`);
    await writeFile(damaged, bytes);
    const ran = await restore(home.path, damaged);
    expect(ran.error()).toMatchObject({ code: "storage_unusable", exit_code: 17 });
    expect(await contentOf(home.path)).toEqual(before);
  });

  test.each([0, 512, 100_000, 3_000_000])("refuses an archive cut at byte %d", async (length) => {
    await using home = await otherHome();
    const before = await contentOf(home.path);
    const cut = join(source.path, `cut-${length}.tar`);
    await cp(archive, cut);
    await truncate(cut, length);
    expect((await restore(home.path, cut)).error()).toMatchObject({ code: "storage_unusable" });
    expect(await contentOf(home.path)).toEqual(before);
  });

  test("refuses while a daemon serves the home", async () => {
    await using home = await temporaryHome();
    const running = await startDaemon(testInput(home.path, {}, []));
    try {
      expect((await restore(home.path, archive)).error()).toMatchObject({
        code: "already_running",
      });
    } finally {
      await running.stop();
    }
  });

  test("finishes a restore that was interrupted while the home had no database", async () => {
    await using home = await otherHome();
    await rm(join(home.path, "croft.db"));
    await expect(startDaemon(testInput(home.path, {}, []))).rejects.toThrow(/no database/);
    expect((await restore(home.path, archive)).json()).toMatchObject({ keys: "kept" });
  });
});

describe("daemon backup to a bucket", () => {
  /** A bucket of the stand-in, as the address and the settings name it. */
  async function openBucket() {
    const server = await startS3Server();
    const address = `s3://${server.bucket}/homes?endpoint=${server.origin}`;
    const env = {
      CROFT_KEY_SOURCE: "file",
      CROFT_BACKUP_ACCESS_KEY_ID: server.key.id,
      CROFT_BACKUP_SECRET_ACCESS_KEY: server.key.secret,
    };
    const run = (
      home: string,
      words: readonly string[],
      more: { readonly stdin?: string; readonly env?: Readonly<Record<string, string>> } = {},
    ) =>
      runCli(["daemon", ...words, "--json"], {
        home,
        ...more,
        env: { ...env, ...more.env },
      });
    return { server, address, run, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }

  test("restores the newest backup of a folder, and one by its address", async () => {
    await using bucket = await openBucket();
    const { address, run } = bucket;
    const sealed = ["--with-keys", "--passphrase-stdin"];
    const written = await run(source.path, ["backup", "--to", address, ...sealed], {
      stdin: passphrase,
    });
    expect({ code: written.code, err: written.err }).toEqual({ code: 0, err: "" });
    const { file, bytes } = written.json() as { file: string; bytes: number };
    const listed = await run(source.path, ["restore", "--from", address, "--list"]);
    expect(listed.json()).toEqual([
      {
        name: expect.stringMatching(/^croft-home-\d{8}-\d{6}\.tar$/) as string,
        address: file,
        bytes,
        created_at: expect.any(String) as string,
        scheduled: false,
        home: null,
      },
    ]);
    for (const words of [
      ["restore", "--from", address, "--yes", ...sealed],
      ["restore", "--from", file, "--yes", ...sealed],
      ["restore", "latest", "--from", "--yes", ...sealed],
    ]) {
      await using home = await otherHome();
      const restored = await run(home.path, words, {
        stdin: passphrase,
        env: { CROFT_BACKUP_URL: address },
      });
      expect(restored.json()).toMatchObject({ restored: true, keys: "restored", copy: file });
      expect(await readFile(join(home.path, "packages", longName))).toEqual(
        Buffer.alloc(3_000_000, 7),
      );
      await (await startDaemon(testInput(home.path, {}, []))).stop();
    }
  });

  test("uses the credentials of objects_url when backup_url has none", async () => {
    await using bucket = await openBucket();
    const { server } = bucket;
    const ran = await runCli(["daemon", "backup", "--to", bucket.address, "--json"], {
      home: source.path,
      env: {
        CROFT_KEY_SOURCE: "file",
        CROFT_OBJECTS_ACCESS_KEY_ID: server.key.id,
        CROFT_OBJECTS_SECRET_ACCESS_KEY: server.key.secret,
      },
    });
    expect(ran.json()).toMatchObject({ backed_up: true, keys: false });
  });

  test("restores nothing from a damaged or truncated object", async () => {
    await using bucket = await openBucket();
    const { address, run, server } = bucket;
    await run(source.path, ["backup", "--to", address]);
    const [there] = server.store.versions("homes/");
    if (there === undefined) throw new Error("there is no backup");
    const { bytes } = there.version;
    const flipped = Buffer.from(bytes);
    flipped[1_000_000] = (flipped[1_000_000] ?? 0) ^ 1;
    await using home = await otherHome();
    const before = await contentOf(home.path);
    for (const damaged of [flipped, bytes.subarray(0, 2_000_000)]) {
      server.store.put(there.key, damaged, {});
      const ran = await run(home.path, ["restore", "--from", address, "--yes"]);
      expect(ran.error()).toMatchObject({ code: "storage_unusable", exit_code: 17 });
      expect(await contentOf(home.path)).toEqual(before);
    }
  });

  test("reports a failed server, not a damaged archive, when a download ends early", async () => {
    await using bucket = await openBucket();
    const { address, run, server } = bucket;
    await run(source.path, ["backup", "--to", address]);
    await using home = await otherHome();
    const before = await contentOf(home.path);
    server.refuse(({ method, key }) => method === "GET" && key !== undefined, {
      status: 403,
      code: "AccessDenied",
    });
    const ran = await run(home.path, ["restore", "--from", address, "--yes"]);
    expect(ran.error()).toMatchObject({ code: "invalid_config", exit_code: 2 });
    expect(ran.error()["message"]).toMatch(/s3:GetObject/);
    expect(await contentOf(home.path)).toEqual(before);
  });

  test("names the setting that is missing or wrong", async () => {
    await using bucket = await openBucket();
    const { address, run, server } = bucket;
    const messageOf = async (
      words: readonly string[],
      env: Readonly<Record<string, string>> = {},
    ) => (await run(source.path, words, { env })).error()["message"];
    expect(
      (
        await runCli(["daemon", "backup", "--to", address, "--json"], { home: source.path })
      ).error(),
    ).toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(/set backup_access_key_id .* and backup_secret/) as string,
    });
    expect(
      await messageOf(["backup", "--to", address], { CROFT_BACKUP_SECRET_ACCESS_KEY: "wrong" }),
    ).toMatch(/backup_secret_access_key .* is not the secret/);
    const missing = address.replace(server.bucket, "missing");
    expect(await messageOf(["backup", "--to", missing])).toMatch(/There is no bucket missing/);
    expect(await messageOf(["backup", "--to"])).toMatch(/backup_url is not set/);
    expect(await messageOf(["backup", "--to", "home.tar"])).toMatch(
      /takes the address of a bucket/,
    );
    expect(await messageOf(["restore", "--from", address, "--yes"])).toMatch(/there is no backup/);
    expect(server.store.uploads.size).toBe(0);
  });

  test("a stop signal aborts the upload", async () => {
    await using bucket = await openBucket();
    const { address, server } = bucket;
    const system = fakeSystem({
      home: source.path,
      env: {
        CROFT_KEY_SOURCE: "file",
        CROFT_BACKUP_ACCESS_KEY_ID: server.key.id,
        CROFT_BACKUP_SECRET_ACCESS_KEY: server.key.secret,
      },
    });
    const { uploads } = server.store;
    const begin = uploads.set.bind(uploads);
    uploads.set = (id, upload) => {
      const keep = upload.parts.set.bind(upload.parts);
      // While the first part arrives: a moment later the upload may be complete.
      upload.parts.set = (number, part) => {
        system.stops.send("SIGINT");
        return keep(number, part);
      };
      return begin(id, upload);
    };
    expect(await run(["daemon", "backup", "--to", address], system)).toBe(130);
    expect(server.store.uploads.size).toBe(0);
    expect(server.store.versions("homes/")).toEqual([]);
    expect(await readdir(join(source.path, "tmp"))).toEqual([]);
  });
});

describe("daemon restore of an archive on standard input", () => {
  test("restores an archive from standard input", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["daemon", "restore", "-", "--yes", "--json"], {
      home: home.path,
      env: { CROFT_KEY_SOURCE: "file" },
      stdin: createReadStream(archive),
    });
    expect(ran.json()).toMatchObject({ restored: true, copy: "standard input", kept: null });
  });

  test("names the remedy for a compressed archive", async () => {
    await using home = await temporaryHome();
    const file = join(home.path, "home.tar.gz");
    await writeFile(file, gzipSync(await readFile(archive)));
    const { message } = (await restore(home.path, file)).error();
    expect(message).toMatch(/is compressed.*gunzip -c .*home\.tar\.gz \| croft daemon restore -/);
  });
});

test("a home restored from a backup without keys names the missing key", async () => {
  await using home = await temporaryHome();
  await using fresh = await temporaryHome();
  await (await startDaemon(testInput(home.path, {}, []))).stop();
  const file = join(home.path, "plain.tar");
  const backedUp = await line(home.path, ["backup", file]);
  expect(backedUp.err).toContain("does not start without the master key");
  const ran = await restore(fresh.path, file);
  expect(ran.json()).toMatchObject({ keys: "missing", kept: null });
  expect(ran.err).toContain("CROFT_MASTER_KEY_FILE");
  await expect(startDaemon(testInput(fresh.path, {}, []))).rejects.toThrow(/master key is missing/);
  const wrong = testInput(fresh.path, { env: { CROFT_MASTER_KEY: "ab".repeat(32) } }, []);
  await expect(startDaemon(wrong)).rejects.toThrow(/another master key/);
  const key = await readFile(join(home.path, "keys", "master.key"), "utf8");
  const right = testInput(fresh.path, { env: { CROFT_MASTER_KEY: key.trim() } }, []);
  await (await startDaemon(right)).stop();
});

test("a backup has the master key of the environment in a file, so that the restored home starts without it", async () => {
  await using home = await temporaryHome();
  await using fresh = await temporaryHome();
  const env = { CROFT_MASTER_KEY: "ab".repeat(32) };
  await (await startDaemon(testInput(home.path, { env }, []))).stop();
  const file = join(home.path, "sealed.tar");
  const sealed = ["--with-keys", "--passphrase-stdin", "--json"];
  await runCli(["daemon", "backup", file, ...sealed], { home: home.path, env, stdin: passphrase });
  const ran = await restore(fresh.path, file, ["--with-keys", "--passphrase-stdin"], passphrase);
  expect(ran.json()).toMatchObject({ keys: "restored", kept: null });
  await (await startDaemon(testInput(fresh.path, {}, []))).stop();
});
