import { copyFile, link, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { runCroft, type CroftCommand } from "../support/croft.ts";
import { mainJob } from "./main-job.ts";

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

test("it says its version and leaves a private, whole runtime in the cache folder", async () => {
  const { stdout, stderr, code } = await runCroft(command, ["--version"], { home });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  expect(stdout).toMatch(/^croft \d+\.\d+\.\d+\n$/);
  const [runtime = "", ...more] = await readdir(join(home, ".cache", "croft"));
  expect(runtime).toMatch(/^runtime-[0-9a-f]{16}$/);
  expect(more).toEqual([]);
  expect((await stat(join(home, ".cache", "croft", runtime))).mode & 0o777).toBe(0o700);
});

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

test("options of the user's own Node programs do not reach it", async () => {
  const env = { NODE_OPTIONS: "--require=/nowhere.js" };
  const { stderr, code } = await runCroft(command, ["--version"], { home, env });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
});

test("Node's own flags are arguments like any other", async () => {
  const { stdout, code } = await runCroft(command, ["--eval", "console.log('node')"], { home });
  expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
});
