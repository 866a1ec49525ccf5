import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cloudProviderTypes } from "../../storage/cloud/registry.ts";
import { behaviours, BEHAVIOURS } from "./cloud-provider.suite.ts";

test("the suite has every behaviour once", () => {
  expect(behaviours.map(({ number }) => number)).toEqual(
    Array.from({ length: BEHAVIOURS }, (_, at) => at + 1),
  );
});

test("every registered adapter runs the suite, at least once without needing a server", async () => {
  const folder = import.meta.dirname;
  const files = (await readdir(folder)).filter((name) => /^cloud-.*\.test\.ts$/.test(name));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  const missing = cloudProviderTypes
    .map(({ type }) => type)
    .filter((type) => !texts.some((text) => text.includes(`cloudProviderSuite("${type}"`)));
  // Its run lies in test/conformance/cloud-<type>.test.ts and bears the type as its name.
  expect(missing).toEqual([]);
});

test("types and settings are spelled as the wire and the environment can carry them", () => {
  for (const type of cloudProviderTypes) {
    expect(type.type).toMatch(/^[a-z][a-z0-9_]*$/);
    for (const setting of type.settings) expect(setting.name).toMatch(/^[a-z][a-z0-9_]*$/);
  }
  expect(new Set(cloudProviderTypes.map(({ type }) => type)).size).toBe(cloudProviderTypes.length);
});
