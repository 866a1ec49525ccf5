import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { productRooms, readSource, readSources, root } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly private?: boolean;
}

const manifest: Manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const installed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
const development = Object.keys(manifest.devDependencies);

/** Packages that work without being imported, and how. */
const usedWithoutImport = new Map([
  ["tsx", "runs the sources; the launcher loads it by name"],
  ["typescript", "editors and `tsc --noEmit` check the types with it, npm test by oxlint-tsgolint"],
  ["oxfmt", "npm test checks the format with it"],
  ["oxlint", "npm test lints with it"],
  ["oxlint-tsgolint", "oxlint checks the types with it, and rules that need them"],
]);

const product = readSources([...productRooms]);
const tools = [...readSources(["bin", "test", "bench"]), readSource("vitest.config.ts")];

test("every package that is imported is named in package.json", () => {
  const named = new Set([...installed, ...development]);
  expect(packagesOf([...product, ...tools]).filter((name) => !named.has(name))).toEqual([]);
});

test("npm installs nothing with croft: all that it needs is in the bundle or beside it", () => {
  expect(installed).toEqual([]);
});

test("the package can be published, without the executable", () => {
  expect(manifest.private).toBeUndefined();
  expect(manifest.files).toEqual(
    expect.arrayContaining(["dist", "!dist/croft", "!dist/croft.exe"]),
  );
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

interface Locked {
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test("all packages in the executable have permissive licenses", () => {
  const permissive =
    /^\(?(MIT|MIT-0|ISC|0BSD|BSD-[23]-Clause|Apache-2\.0|BlueOak-1\.0\.0|CC0-1\.0|Unlicense|PSF-2\.0|Python-2\.0)\b/;
  const lock: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(root, "package-lock.json"), "utf8"),
  );
  const shipped = closureOf(lock.packages, packagesOf(product));
  const wrong = [...shipped]
    .filter((path) => {
      const license = lock.packages[path]?.license ?? statedAsList.get(path) ?? "none";
      return !permissive.test(license);
    })
    .map((path) => `${path}: ${lock.packages[path]?.license}`);
  expect(shipped.size).toBeGreaterThan(50);
  expect(wrong).toEqual([]);
});

/** The places in the lock file of the packages and of everything that they depend on. */
function closureOf(packages: Record<string, Locked>, names: readonly string[]): Set<string> {
  const found = new Set<string>();
  const take = (from: string, wanted: readonly string[]): void => {
    for (const name of wanted) {
      const path = locate(packages, from, name);
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      const { dependencies, optionalDependencies } = packages[path] ?? {};
      take(path, Object.keys({ ...dependencies, ...optionalDependencies }));
    }
  };
  take("", names);
  return found;
}

/** Where Node finds `name` from the package at `from`; undefined for one that is not installed on any platform. */
function locate(packages: Record<string, Locked>, from: string, name: string): string | undefined {
  let folder = from;
  while (folder !== "") {
    const nested = `${folder}/node_modules/${name}`;
    if (nested in packages) return nested;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")));
  }
  const top = `node_modules/${name}`;
  return top in packages ? top : undefined;
}

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
