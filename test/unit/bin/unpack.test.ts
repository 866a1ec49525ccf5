import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cacheFolder, homeCacheFolder, keepUnpacked, unpackRuntime } from "../../../bin/unpack.ts";
import type { Runtime, UnpackEnvironment } from "../../../bin/unpack.ts";
import { skipUnless } from "../../support/skip.ts";

const asRoot = skipUnless(process.getuid?.() === 0, "only root can give a folder to another user");

const contents: Record<string, string> = {
  "entry.js": "console.log(1);",
  "storage/migrations/0001_common.sql": "create table a (b);",
};

let folder: string;
let cache: string;
let environment: UnpackEnvironment;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "croft-unpack-")));
  cache = join(folder, "cache");
  environment = {
    env: { CROFT_CACHE_DIR: cache },
    words: [],
    platform: process.platform,
    homeFolder: join(folder, "home"),
    temporaryFolder: join(folder, "tmp"),
    userId: process.getuid?.(),
  };
  await mkdir(environment.temporaryFolder, { mode: 0o700 });
});

afterEach(() => rm(folder, { recursive: true }));

test("unpacks the files to a private folder named after the runtime's id", async () => {
  const runtime = unpackRuntime(makeRuntime(), environment);
  expect(runtime).toBe(join(cache, "runtime-one"));
  await expectWhole(runtime);
  expect((await stat(runtime)).mode & 0o777).toBe(0o700);
  expect((await stat(join(runtime, "entry.js"))).mode & 0o777).toBe(0o600);
  expect(await readdir(cache)).toEqual(["runtime-one"]);
});

test("a second start finds them and reads no asset", () => {
  const first = unpackRuntime(makeRuntime(), environment);
  const read = () => {
    throw new Error("not needed");
  };
  expect(unpackRuntime({ ...makeRuntime(), read }, environment)).toBe(first);
});

test.each(["missing", "cut short", "changed"])("a file that is %s is put back", async (damage) => {
  const runtime = unpackRuntime(makeRuntime(), environment);
  if (damage === "missing") await rm(join(runtime, "entry.js"));
  else if (damage === "cut short") await truncate(join(runtime, "entry.js"), 3);
  else await writeFile(join(runtime, "entry.js"), "console.log(2);");
  expect(unpackRuntime(makeRuntime(), environment)).toBe(runtime);
  await expectWhole(runtime);
  expect(await readdir(cache)).toEqual(["runtime-one"]);
});

test("unpacked files that are removed while croft runs are restored", async () => {
  const runtime = unpackRuntime(makeRuntime(), environment);
  let look = () => undefined as void;
  keepUnpacked(runtime, makeRuntime(), environment.userId, (each) => (look = each));
  await rm(cache, { recursive: true });
  await writeFile(cache, "in the way");
  look();
  await rm(cache);
  look();
  await expectWhole(runtime);
});

test("twenty processes that start at once share one folder, complete for each of them", async () => {
  const started = Array.from({ length: 20 }, () => startUnpacking());
  const folders = await Promise.all(started);
  expect(new Set(folders)).toEqual(new Set([join(cache, "runtime-one")]));
  expect(await readdir(cache)).toEqual(["runtime-one"]);
});

test("runtimes of earlier versions go, but for the three unpacked last", async () => {
  for (const [index, id] of ["a", "b", "c", "d", "e"].entries()) {
    const old = unpackRuntime(makeRuntime(id), environment);
    await utimes(old, 1_000 + index, 1_000 + index);
  }
  unpackRuntime(makeRuntime(), environment);
  expect((await readdir(cache)).toSorted()).toEqual(
    ["c", "d", "e", "one"].map((id) => `runtime-${id}`),
  );
});

test("an old incomplete unpacking is removed", async () => {
  for (const name of [".unpacking-old", ".unpacking-fresh"])
    await mkdir(join(cache, name), { recursive: true });
  await chmod(cache, 0o700);
  await utimes(join(cache, ".unpacking-old"), 1_000, 1_000);
  unpackRuntime(makeRuntime(), environment);
  expect((await readdir(cache)).toSorted()).toEqual([".unpacking-fresh", "runtime-one"]);
});

describe("another user plants code", () => {
  test("a link in place of the cache folder is refused, and the temporary folder is used", async () => {
    const planted = unpackRuntime(makeRuntime(), {
      ...environment,
      env: { CROFT_CACHE_DIR: join(folder, "planted") },
    });
    await mkdir(cache, { mode: 0o700 });
    await symlink(planted, join(cache, "runtime-one"));
    expect(unpackRuntime(makeRuntime(), environment)).toBe(temporaryRuntime());
  });

  test.each([0o770, 0o707, 0o750])(
    "a cache folder of mode %o is refused, and the temporary folder is used",
    async (mode) => {
      await chmod(unpackRuntime(makeRuntime(), environment), mode);
      expect(unpackRuntime(makeRuntime(), environment)).toBe(temporaryRuntime());
    },
  );

  test("a cache folder in a parent that others may write is refused", async () => {
    await mkdir(cache);
    await chmod(cache, 0o777);
    expect(unpackRuntime(makeRuntime(), environment)).toBe(temporaryRuntime());
  });

  test("croft does not start when another user owns the cache and temporary folders", () => {
    const stranger = { ...environment, userId: (environment.userId ?? 0) + 1 };
    expect(() => unpackRuntime(makeRuntime(), stranger)).toThrow(
      /cannot be unpacked .*belongs to user/,
    );
  });
});

test("a cache folder that cannot be made leads to the temporary folder", async () => {
  await writeFile(cache, "a file is in the way");
  expect(unpackRuntime(makeRuntime(), environment)).toBe(temporaryRuntime());
  await expectWhole(temporaryRuntime());
});

asRoot.test("root creates no files in another user's home", async () => {
  const homeFolder = join(folder, "home");
  await mkdir(homeFolder);
  await chown(homeFolder, 54_321, 54_321);
  const runtime = unpackRuntime(makeRuntime(), { ...environment, env: {}, homeFolder });
  expect(runtime).toBe(temporaryRuntime());
  expect(await readdir(homeFolder)).toEqual([]);
});

test("a user without a home gets the temporary folder", () => {
  const homeless = { ...environment, env: {}, homeFolder: undefined };
  expect(unpackRuntime(makeRuntime(), homeless)).toBe(temporaryRuntime());
});

test("without a usable folder the error names both folders and the setting", async () => {
  await writeFile(join(folder, "blocked"), "");
  const blocked = join(folder, "blocked", "below");
  const nowhere = { ...environment, env: { XDG_CACHE_HOME: blocked }, temporaryFolder: blocked };
  expect(() => unpackRuntime(makeRuntime(), nowhere)).toThrow(
    /ENOTDIR.*ENOTDIR.*set CROFT_CACHE_DIR/,
  );
});

test.each([
  ["linux", {}, "/home/mira/.cache/croft"],
  ["darwin", {}, "/home/mira/Library/Caches/croft"],
  ["linux", { XDG_CACHE_HOME: "/var/cache/mira" }, "/var/cache/mira/croft"],
  ["linux", { XDG_CACHE_HOME: "cache" }, "/home/mira/.cache/croft"],
  ["linux", { XDG_CACHE_HOME: "/var/cache/mira", CROFT_CACHE_DIR: "/srv/croft" }, "/srv/croft"],
] as const)("on %s with %o the cache is %s", (platform, env, expected) => {
  expect(cacheFolder({ ...environment, platform, env, homeFolder: "/home/mira" })).toBe(expected);
});

test("a named home keeps its unpacked files inside", async () => {
  const home = join(folder, "second");
  const inside = join(home, "state", "cache", "runtime-one");
  const unpack = (words: string[], env = {}) =>
    unpackRuntime(makeRuntime(), { ...environment, env, words });
  expect(unpack(["--home", home, "init"])).toBe(inside);
  expect(unpack(["init"], { CROFT_HOME: home })).toBe(inside);
  await expectWhole(inside);
  expect(existsSync(join(folder, "home"))).toBe(false);
});

test.each([
  ["a flag before the variable", ["--home=/srv/a"], { CROFT_HOME: "/srv/b" }, "/srv/a/state/cache"],
  ["the last flag", ["--home", "/srv/a", "--home", "/srv/b"], {}, "/srv/b/state/cache"],
  ["the home folder of the user", ["--home", "~/b"], {}, "/srv/b/state/cache"],
  ["no argument of another program", ["run", "--", "--home", "/srv/a"], {}, undefined],
  ["no home below a folder that is missing", ["--home", "/srv/missing/a"], {}, undefined],
  ["a folder that is named itself", ["--home", "/srv/a"], { CROFT_CACHE_DIR: "/x" }, undefined],
])("the cache of a home is that of %s", (_what, words, env, expected) => {
  expect(homeCacheFolder({ words, env, homeFolder: "/srv" })).toBe(expected);
});

function makeRuntime(id = "one"): Runtime {
  const files = Object.entries(contents).map(([path, text]) => [path, text.length] as const);
  return { id, files, read: (path) => new TextEncoder().encode(contents[path]) };
}

function temporaryRuntime(): string {
  return join(environment.temporaryFolder, `croft-${environment.userId}`, "runtime-one");
}

async function expectWhole(runtime: string): Promise<void> {
  for (const [path, text] of Object.entries(contents)) {
    expect(await readFile(join(runtime, path), "utf8")).toBe(text);
  }
}

/** Runs `unpackRuntime` in a separate process and resolves to its result, after that process has read every file back. */
async function startUnpacking(): Promise<string> {
  const script = `
    import { readFileSync } from "node:fs";
    import { unpackRuntime } from ${JSON.stringify(join(import.meta.dirname, "../../../bin/unpack.ts"))};
    const contents = ${JSON.stringify(contents)};
    const files = Object.entries(contents).map(([path, text]) => [path, text.length]);
    const runtime = { id: "one", files, read: (path) => new TextEncoder().encode(contents[path]) };
    const folder = unpackRuntime(runtime, ${JSON.stringify(environment)});
    for (const [path, text] of Object.entries(contents)) {
      if (readFileSync(folder + "/" + path, "utf8") !== text) throw new Error(path);
    }
    process.stdout.write(folder);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return output;
}
