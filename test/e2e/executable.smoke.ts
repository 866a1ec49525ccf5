import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmod,
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  countPoolThreads,
  croftJson,
  findBlockSetting,
  runCroft,
  type CroftCommand,
} from "../support/croft.ts";
import { mainJob } from "./main-job.ts";

const path = process.env["PATH"] ?? "";
const built = join(import.meta.dirname, "..", "..", "dist", "croft");
const twoMinutesMs = 120_000;

let folder: string;
let home: string;
let command: CroftCommand;

/** The executable alone, in a folder without node_modules above it, on a PATH that leads nowhere. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-executable-"));
  const executable = join(folder, "croft");
  await link(built, executable).catch(() => copyFile(built, executable));
  command = [executable];
  await mkdir(join(folder, "no-programs"));
  process.env["PATH"] = join(folder, "no-programs");
});

beforeEach(async () => {
  home = await mkdtemp(join(folder, "home "));
});

afterAll(() => rm(folder, { recursive: true }));

test("the main job runs end to end", { timeout: twoMinutesMs }, () => mainJob(command, home));

test("it prints its version and leaves a private, complete runtime in the cache folder", async () => {
  const { stdout, stderr, code } = await runCroft(command, ["--version"], { home });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  expect(stdout).toMatch(/^croft \d+\.\d+\.\d+\n$/);
  const [runtime = "", ...more] = await readdir(join(home, "state", "cache"));
  expect(runtime).toMatch(/^runtime-[0-9a-f]{16}$/);
  expect(more).toEqual([]);
  expect((await stat(join(home, "state", "cache", runtime))).mode & 0o777).toBe(0o700);
});

test("it runs a script with its own Node, as the runner of workflows does", async () => {
  await writeFile(join(home, "other.mjs"), "export const word = 'module';\n");
  await writeFile(
    join(home, "script.mjs"),
    "import { word } from './other.mjs';\nawait 1;\nconsole.log(word, process.argv.slice(2).join());\n",
  );
  await writeFile(
    join(home, "script.cjs"),
    "console.log(require.main === module, process.argv.slice(2).join());\n",
  );
  const run = (script: string) =>
    runCroft(command, ["__run-script", join(home, script), "one", "two"], { home });
  expect(await run("script.mjs")).toEqual({ code: 0, stdout: "module one,two\n", stderr: "" });
  expect(await run("script.cjs")).toEqual({ code: 0, stdout: "true one,two\n", stderr: "" });
  expect((await run("absent.cjs")).code).toBe(1);
});

test(
  "the pool of its daemon has 16 threads, so that commits do not wait for calls that hang",
  { timeout: twoMinutesMs },
  async () => {
    const start = ["daemon", "start", "--port", "0"];
    const { pid } = await croftJson<{ readonly pid: number }>(command, start, { home });
    try {
      expect([16, undefined]).toContain(await countPoolThreads(pid));
      expect(["MALLOC_MMAP_THRESHOLD_=4194304", undefined]).toContain(await findBlockSetting(pid));
    } finally {
      await runCroft(command, ["daemon", "stop"], { home });
    }
  },
);

test("twenty first starts at once all succeed", { timeout: twoMinutesMs }, async () => {
  const runs = await Promise.all(
    Array.from({ length: 20 }, () => runCroft(command, ["--version"], { home })),
  );
  expect(runs.map(({ stderr, code }) => ({ stderr, code }))).toEqual(
    runs.map(() => ({ stderr: "", code: 0 })),
  );
});

test("a home in which nothing can be written does not stop it", async () => {
  const blocked = join(home, "blocked");
  await writeFile(blocked, "");
  const env = { HOME: blocked, XDG_CACHE_HOME: blocked, TMPDIR: home };
  const { stderr, code } = await runCroft(command, ["--version"], { home, env });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
});

test("it runs for a user whom the system does not know and who has no home", async () => {
  for (const path of [folder, home]) await chmod(path, 0o1777);
  const isRoot = process.getuid?.() === 0;
  const { stderr, status } = spawnSync(command[0], ["config", "path"], {
    cwd: "/",
    env: { TMPDIR: home, CROFT_HOME: home },
    ...(isRoot && { uid: 54_321, gid: 54_321 }),
    encoding: "utf8",
  });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
});

test("an addon that was changed on disk, size and time as before, is put back and not loaded", async () => {
  const args = [
    "init",
    "--username",
    "keeper",
    "--email",
    "keeper@example.org",
    "--password-stdin",
  ];
  await runCroft(command, ["--version"], { home });
  const [runtime = ""] = await readdir(join(home, "state", "cache"));
  const addon = join(
    home,
    "state/cache",
    runtime,
    `node_modules/better-sqlite3/prebuilds/${process.platform}-${process.arch}.node`,
  );
  const original = await readFile(addon);
  const { atime, mtime } = await stat(addon);
  await writeFile(addon, Buffer.alloc(original.length, "x"));
  await utimes(addon, atime, mtime);
  const { stderr, code } = await runCroft(command, args, { home }, "Correct-Horse-7-Battery\n");
  expect({ stderr: stderr.includes("Error"), code }).toEqual({ stderr: false, code: 0 });
  expect((await readFile(addon)).equals(original)).toBe(true);
});

test("options of the user's own Node programs do not reach it", async () => {
  const env = { NODE_OPTIONS: "--require=/nowhere.js" };
  const { stderr, code } = await runCroft(command, ["--version"], { home, env });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
});

test("Node's own flags are arguments like any other", async () => {
  const { stdout, code } = await runCroft(command, ["--eval", "console.log('node')"], { home });
  expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
});

test("a release consists of packages, the list of its parts and sums that are right", async () => {
  const root = join(import.meta.dirname, "..", "..");
  const env = { ...process.env, PATH: path };
  const { status, stderr } = spawnSync(process.execPath, ["bin/release.ts", "--draft"], {
    cwd: root,
    env,
    encoding: "utf8",
  });
  expect({ status, stderr: stderr.replace(/^dpkg-deb is not installed.*\n/, "") }).toEqual({
    status: 0,
    stderr: "",
  });
  const release = join(root, "dist", "release");
  const files = (await readdir(release)).toSorted();
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  expect(files).toEqual(
    expect.arrayContaining([
      "SHA256SUMS",
      `croft-${version}.tgz`,
      `croft-${version}-${process.platform}-${process.arch}`,
    ]),
  );
  const sums = (await readFile(join(release, "SHA256SUMS"), "utf8")).trimEnd().split("\n");
  expect(sums.map((line) => line.slice(66))).toEqual(files.filter((name) => name !== "SHA256SUMS"));
  for (const line of sums) {
    const hash = createHash("sha256").update(await readFile(join(release, line.slice(66))));
    expect(hash.digest("hex")).toBe(line.slice(0, 64));
  }
  const parts: { components: { name: string }[] } = JSON.parse(
    await readFile(join(release, `croft-${version}-parts.cdx.json`), "utf8"),
  );
  const names = parts.components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["better-sqlite3", "argon2", "h3", "undici"]));
  expect(names).not.toContain("vitest");
}, 120_000);
