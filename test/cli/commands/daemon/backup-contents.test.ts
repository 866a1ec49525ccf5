import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { pack as createPack } from "tar-stream";
import { expect, test } from "vitest";
import { startDaemon } from "../../../../daemon/main.ts";
import { readSettingsCopy } from "../../../../daemon/home/backup-settings.ts";
import { isContent } from "../../../../storage/backup/contents.ts";
import { proof, readArchive } from "../../../../storage/backup/read-archive.ts";
import { writeBackup } from "../../../../storage/backup/write-backup.ts";
import { toDataDirectory } from "../../../../storage/data-directory.ts";
import { testInput } from "../../../support/daemon.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

/** A home that was served. */
async function servedHome() {
  const home = await temporaryHome();
  await (await startDaemon(testInput(home.path, {}, []))).stop();
  return home;
}

test("holds repositories that lie outside of the home, and not the backup itself", async () => {
  await using home = await servedHome();
  await using outside = await temporaryHome();
  await mkdir(join(outside.path, "mira", "notes.git"), { recursive: true });
  await writeFile(join(outside.path, "mira", "notes.git", "HEAD"), "ref: refs/heads/main\n");
  const env = { CROFT_KEY_SOURCE: "file", CROFT_REPOSITORIES_DIR: outside.path };
  await mkdir(join(home.path, "files"), { recursive: true });
  const file = join(home.path, "files", "home.tar");
  // What a backup to this file has left that was killed.
  await writeFile(`${file}.~77_0badcafe.croft-part`, "half a backup");
  const backedUp = await runCli(["daemon", "backup", file, "--json"], { home: home.path, env });
  expect({ code: backedUp.code, partial: backedUp.out.includes("croft-part") }).toEqual({
    code: 0,
    partial: false,
  });
  expect(await readFile(file, "latin1")).not.toContain(".croft-part");
  expect(await readdir(join(home.path, "files"))).toEqual(["home.tar"]);
  await using restored = await temporaryHome();
  const ran = await runCli(["daemon", "restore", file, "--yes"], { home: restored.path, env });
  expect(ran.err).toContain(`repositories_dir names ${outside.path}`);
  const notes = join(restored.path, "repositories", "mira", "notes.git");
  expect(await readFile(join(notes, "HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
});

test("ends whenever its destination fails, also while a file is read", async () => {
  await using home = await servedHome();
  await writeFile(join(home.path, "packages", "large"), Buffer.alloc(8_000_000, 1));
  // Some of these ends meet the archive while its writer reads the next part of a file.
  for (let failsAt = 1; failsAt <= 8; failsAt += 1) {
    let chunks = 0;
    const backedUp = writeBackup({
      directory: toDataDirectory(home.path),
      repositories: join(home.path, "repositories"),
      readSettings: async () => undefined,
      passphrase: undefined,
      exportKeys: async () => new Map(),
      version: "0",
      now: 0,
      mark: "test",
      async write() {
        chunks += 1;
        // Longer than one turn of the event loop: the writer of the archive continues meanwhile.
        for (let turn = 0; turn < failsAt % 3; turn += 1) await setImmediate();
        if (chunks === failsAt) throw new Error("the disk is full");
      },
    });
    await expect(backedUp).rejects.toThrow("the disk is full");
    expect(await readdir(join(home.path, "tmp"))).toEqual([]);
  }
});

test("fails when a daemon that starts empties tmp/ meanwhile", async () => {
  await using home = await servedHome();
  await writeFile(join(home.path, "packages", "large"), Buffer.alloc(20_000_000, 1));
  let isEmptied = false;
  const backedUp = writeBackup({
    directory: toDataDirectory(home.path),
    repositories: join(home.path, "repositories"),
    readSettings: async () => undefined,
    passphrase: undefined,
    exportKeys: async () => new Map(),
    version: "0",
    now: 0,
    mark: "test",
    async write() {
      if (isEmptied) return;
      isEmptied = true;
      for (const name of await readdir(join(home.path, "tmp")))
        await rm(join(home.path, "tmp", name));
    },
  });
  await expect(backedUp).rejects.toThrow(/removed while the backup ran/);
});

test("holds every name that a disk takes, with permissions and times, and names what it leaves out", async () => {
  await using home = await servedHome();
  const files = join(home.path, "files");
  await mkdir(join(files, "in"), { recursive: true });
  const names = [
    "a\\b",
    "..\\c",
    "e\u0301",
    "\u00e9",
    "new\nline",
    " space ",
    `${"n".repeat(255)}`,
  ];
  for (const name of names) await writeFile(join(files, "in", name), name);
  const then = new Date("2020-02-03T04:05:06.000Z");
  await writeFile(join(files, "in", "tool"), "#!/bin/sh");
  await chmod(join(files, "in", "tool"), 0o755);
  await utimes(join(files, "in", "tool"), then, then);
  await symlink("tool", join(files, "in", "link"));
  await writeFile(Buffer.concat([Buffer.from(`${files}/`), Buffer.from([0x6c, 0xe9])]), "latin-1");
  execFileSync("mkfifo", [join(files, "pipe")]);
  await chmod(join(files, "in"), 0o500);
  await utimes(join(files, "in"), then, then);
  const env = { CROFT_KEY_SOURCE: "file" };
  const file = join(home.path, "home.tar");
  const ran = await runCli(["daemon", "backup", file, "--json"], { home: home.path, env });
  expect(ran.code, ran.err).toBe(0);
  const { left_out: leftOut, left_out_count: count } = ran.json() as {
    left_out: { path: string; reason: string }[];
    left_out_count: number;
  };
  expect(count).toBe(3);
  expect(leftOut).toEqual(
    expect.arrayContaining([
      { path: "files/in/link", reason: "link" },
      { path: "files/l\ufffd", reason: "name" },
      { path: "files/pipe", reason: "special" },
    ]),
  );
  expect(ran.err).toContain("files/in/link: a symbolic link");
  await using restored = await temporaryHome();
  const back = await runCli(["daemon", "restore", file, "--yes"], { home: restored.path, env });
  expect(back.code, back.err).toBe(0);
  const folder = join(restored.path, "files", "in");
  expect((await readdir(folder)).toSorted()).toEqual([...names, "tool"].toSorted());
  expect(await readFile(join(folder, "..\\c"), "utf8")).toBe("..\\c");
  const [tool, inner] = [await stat(join(folder, "tool")), await stat(folder)];
  expect([tool.mode & 0o777, tool.mtime]).toEqual([0o755, then]);
  expect([inner.mode & 0o777, inner.mtime]).toEqual([0o500, then]);
  await chmod(folder, 0o700);
  await chmod(join(files, "in"), 0o700);
});

test("only Windows takes a backslash for a separator", () => {
  expect(isContent("packages/..\\evil", "/")).toBe(true);
  expect(isContent("packages/..\\evil", "\\")).toBe(false);
});

test("a file that is cut while it is read is named, and the archive is whole", async () => {
  await using home = await servedHome();
  const large = join(home.path, "packages", "large");
  await writeFile(large, Buffer.alloc(8_000_000, 1));
  const chunks: Uint8Array[] = [];
  const { leftOut } = await writeBackup({
    directory: toDataDirectory(home.path),
    repositories: join(home.path, "repositories"),
    readSettings: async () => undefined,
    passphrase: undefined,
    exportKeys: async () => new Map(),
    version: "0",
    now: 0,
    mark: "test",
    async write(chunk) {
      if (Buffer.from(chunk).includes("packages/large")) await truncate(large, 1000);
      chunks.push(Buffer.from(chunk));
    },
  });
  expect(leftOut).toEqual([{ path: "packages/large", reason: "truncated" }]);
  await expect(readArchive(Readable.from(chunks), "archive", proof)).resolves.toBeGreaterThan(1);
});

test("a restore looks for links before it unpacks anything", async () => {
  await using home = await servedHome();
  await using other = await servedHome();
  const file = join(home.path, "home.tar");
  const env = { CROFT_KEY_SOURCE: "file" };
  expect((await runCli(["daemon", "backup", file], { home: home.path, env })).code).toBe(0);
  await rename(join(other.path, "objects"), join(home.path, "elsewhere"));
  await symlink(join(home.path, "elsewhere"), join(other.path, "objects"));
  const ran = await runCli(["daemon", "restore", file, "--yes"], { home: other.path, env });
  expect([ran.code, ran.err]).toEqual([17, expect.stringContaining("objects is a link")]);
  expect(await readdir(other.path)).toContain("croft.db");
  expect((await readdir(other.path)).filter((name) => name.startsWith("replaced"))).toEqual([]);
});

test.each([
  ["an entry above the folder", [{ name: "packages/../../evil" }]],
  ["an absolute path", [{ name: "/tmp/evil" }]],
  ["a folder above", [{ name: "packages/../../evil/", type: "directory" as const }]],
  ["a symbolic link", [{ name: "packages/a", type: "symlink" as const, linkname: "/etc" }]],
  ["a hard link", [{ name: "packages/a", type: "link" as const, linkname: "../croft.db" }]],
  ["a device", [{ name: "packages/a", type: "character-device" as const }]],
  ["a file of the settings' folder", [{ name: "keys/master.key" }]],
  ["one name twice", [{ name: "packages/a" }, { name: "packages/a" }]],
  ["a file that is a folder too", [{ name: "packages/a" }, { name: "packages/a/b" }]],
  ["a name that no disk takes", [{ name: `packages/${"n".repeat(300)}` }]],
  ["a manifest of nothing", [{ name: "MANIFEST.sha256" }]],
  ["no database", [{ name: "backup.json" }]],
])("refuses an archive with %s", async (_what, entries) => {
  await using home = await temporaryHome();
  const pack = createPack();
  for (const entry of entries) pack.entry({ mode: 0o600, ...entry }, "");
  pack.finalize();
  const file = join(tmpdir(), `hostile-${randomUUID()}.tar`);
  await writeFile(file, pack as AsyncIterable<Buffer>);
  try {
    const ran = await runCli(["daemon", "restore", file, "--yes", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({ code: "storage_unusable", exit_code: 17 });
    expect(ran.error()["message"]).toMatch(/is not a whole backup/);
    expect(await readdir(home.path)).not.toContain("croft.db");
    expect(await readdir(join(home.path, "tmp"))).toEqual([]);
  } finally {
    await rm(file);
  }
});

test("backup and restore show progress only on a terminal or on request of a script", async () => {
  await using home = await servedHome();
  const archive = join(home.path, "home.tar");
  const go = async (words: readonly string[], hasTerminal = false) => {
    await using other = await temporaryHome();
    return await runCli(["daemon", ...words], {
      home: words[0] === "backup" ? home.path : other.path,
      env: { CROFT_KEY_SOURCE: "file" },
      terminal: { err: hasTerminal },
    });
  };
  const restore = ["restore", archive, "--yes"];
  expect((await go(["backup", archive], true)).err).toMatch(/\d%/);
  const { size } = await stat(archive);
  const events = (await go([...restore, "--progress", "json", "--json"])).err
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as unknown);
  expect(events).toContainEqual({ event: "done", item: archive, bytes: size, total: size });
  expect((await go([...restore, "--json"])).err).not.toContain("%");
  expect((await go(restore, true)).err).toMatch(/\d%/);
});

test("a backup removes what a killed one left in tmp/, and leaves that of one that runs", async () => {
  await using home = await servedHome();
  const dead = spawnSync(process.execPath, ["-e", ""]).pid;
  for (const name of [`backup-${dead}.db`, `backup-${dead}.sha256`, `backup-${process.ppid}.db`])
    await writeFile(join(home.path, "tmp", name), "left");
  const env = { CROFT_KEY_SOURCE: "file" };
  const file = join(home.path, "home.tar");
  const ran = await runCli(["daemon", "backup", file, "--json"], { home: home.path, env });
  expect(ran.code).toBe(0);
  expect(await readdir(join(home.path, "tmp"))).toEqual([`backup-${process.ppid}.db`]);
});

/** Every secret that a config file can hold, and one that was commented out. */
const secretConfig = `# smtp_url: smtp://mira:former-secret@mail.example.org
log_level: warn
backup_passphrase: &p sealed-secret
backup_secret_access_key: *p
objects_secret_access_key: "bucket-secret"
smtp_url: smtp://mira:mail-secret@mail.example.org
mail_from: Mira <mira@example.org>
`;

const leftOut = [
  "backup_passphrase",
  "backup_secret_access_key",
  "objects_secret_access_key",
  "smtp_url",
];

test("keeps secret settings out of the readable part, and restores them with the keys", async () => {
  await using home = await servedHome();
  await writeFile(join(home.path, "config.yaml"), secretConfig);
  const env = { CROFT_KEY_SOURCE: "file" };
  const file = join(home.path, "home.tar");
  const stdin = "passphrase of this test";
  const words = ["daemon", "backup", file, "--with-keys", "--passphrase-stdin"];
  expect((await runCli(words, { home: home.path, env, stdin })).code).toBe(0);
  const bytes = await readFile(file, "latin1");
  for (const secret of ["former-secret", "sealed-secret", "bucket-secret", "mail-secret"])
    expect(bytes).not.toContain(secret);

  await using plain = await temporaryHome();
  const without = ["daemon", "restore", file, "--yes", "--json"];
  const ran = await runCli(without, { home: plain.path, env });
  expect(ran.json()).toMatchObject({ restored: true, settings_left_out: leftOut });
  for (const key of leftOut) expect(ran.err).toContain(key);
  expect(await readFile(join(plain.path, "config.yaml"), "utf8")).toMatch(
    /^#.*\nlog_level: warn\nmail_from: Mira <mira@example\.org>\n$/,
  );

  await using whole = await temporaryHome();
  const withKeys = [...without, "--with-keys", "--passphrase-stdin"];
  const opened = await runCli(withKeys, { home: whole.path, env, stdin });
  expect(opened.json()).toMatchObject({ keys: "restored", settings_left_out: [] });
  expect(await readFile(join(whole.path, "config.yaml"), "utf8")).toBe(secretConfig);
  expect(await readdir(join(whole.path, "keys"))).not.toContain("config.yaml");
});

test("leaves out a config file whose secrets cannot be told from the rest", async () => {
  await using home = await servedHome();
  const copy = await readSettingsCopy(join(home.path, "config.yaml"));
  expect(copy).toBeUndefined();
  await writeFile(join(home.path, "config.yaml"), "log_level: [\nbackup_passphrase: secret\n");
  expect(await readSettingsCopy(join(home.path, "config.yaml"))).toMatchObject({
    withoutSecrets: undefined,
    leftOut: ["config.yaml"],
  });
});

test("restores an archive of an earlier version with the secrets in its config file", async () => {
  await using home = await servedHome();
  const chunks: Uint8Array[] = [];
  await writeBackup({
    directory: toDataDirectory(home.path),
    repositories: join(home.path, "repositories"),
    readSettings: async () => ({
      whole: Buffer.from(secretConfig),
      withoutSecrets: Buffer.from(secretConfig),
      leftOut: [],
    }),
    passphrase: undefined,
    exportKeys: async () => new Map(),
    version: "0",
    now: 0,
    mark: "test",
    async write(chunk) {
      chunks.push(Buffer.from(chunk));
    },
  });
  const file = join(home.path, "home.tar");
  await writeFile(file, Buffer.concat(chunks));
  await using restored = await temporaryHome();
  const env = { CROFT_KEY_SOURCE: "file" };
  const words = ["daemon", "restore", file, "--yes", "--json"];
  const ran = await runCli(words, { home: restored.path, env });
  expect(ran.json()).toMatchObject({ restored: true, settings_left_out: [] });
  expect(await readFile(join(restored.path, "config.yaml"), "utf8")).toBe(secretConfig);
});
