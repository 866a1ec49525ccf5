import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, toNamespacedPath } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { guardAddons } from "../../../bin/addons.ts";
import type { Runtime } from "../../../bin/unpack.ts";

const carried = "the addon as it was built";
const runtime: Runtime = {
  id: "one",
  files: [["sqlite.node", carried.length]],
  read: () => new TextEncoder().encode(carried),
};

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-addons-"));
  file = toNamespacedPath(join(folder, "sqlite.node"));
});

afterEach(() => rm(folder, { recursive: true }));

test("an addon that is as it was unpacked is loaded, with the flags that were given", async () => {
  await writeFile(file, carried);
  const calls: unknown[][] = [];
  guardAddons(folder, runtime, (...args) => void calls.push(args))({ exports: 1 }, file, 2);
  expect(calls).toEqual([[{ exports: 1 }, file, 2]]);
});

test("one that was changed, size and time as before, is put back before it is loaded", async () => {
  await writeFile(file, carried.toUpperCase());
  const load = guardAddons(folder, runtime, () => undefined);
  load({ exports: {} }, file);
  expect(await readFile(file, "utf8")).toBe(carried);
  expect(await readdir(folder)).toEqual(["sqlite.node"]);
});

test("an addon that the executable does not contain is not loaded", async () => {
  const planted = join(folder, "planted.node");
  await writeFile(planted, carried);
  let isLoaded = false;
  const load = guardAddons(folder, runtime, () => void (isLoaded = true));
  expect(() => load({ exports: {} }, planted)).toThrow(/planted\.node is not one of croft's own/);
  expect(isLoaded).toBe(false);
});

test("a disk that is mounted noexec is reported with the remedy", async () => {
  await writeFile(file, carried);
  const load = guardAddons(folder, runtime, () => {
    throw new Error(`${file}: failed to map segment from shared object`);
  });
  expect(() => load({ exports: {} }, file)).toThrow(/failed to map.*set CROFT_CACHE_DIR/);
});
