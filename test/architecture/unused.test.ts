import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  listPaths,
  productRooms,
  readSource,
  readSources,
  root,
  type SourceFile,
} from "./source-tree.ts";

// What nothing uses any more: exports, files and settings of the linter that would otherwise stay for ever.

/** Declarations of packages without types, which the compiler finds itself. */
const isDeclaration = (path: string) => path.endsWith(".d.ts");

const sources = [
  ...readSources([...productRooms, "bin", "test", "bench"]),
  readSource("vitest.config.ts"),
].filter(({ path }) => !isDeclaration(path));
const byPath = new Map(sources.map((source) => [source.path, source]));

/** Files that a program starts by their path, and how. */
const entries: readonly (readonly [file: RegExp, because: string])[] = [
  [/^bin\/(?:croft|install-node)\.js$/, "package.json"],
  [/^bin\/(?:build|release)\.ts$/, "package.json"],
  [/^(?:test|bench)\/run\.ts$/, "package.json"],
  [/^bench\/[\w-]+\.(?:bench|long)\.ts$/, "npm run bench"],
  [/^test\/.*\.(?:test|smoke)\.tsx?$/, "vitest"],
  [/^vitest\.config\.ts$/, "vitest"],
];

/** Exports that a program calls by name. */
const calledByName = new Map([
  ["test/support/storage/postgres-server.ts: setup", "vitest"],
  ["test/support/storage/postgres-server.ts: teardown", "vitest"],
]);

/** Returns the names that a file exports, by its own names for them. */
function exportsOf({ parsed }: SourceFile): readonly string[] {
  return parsed.module.staticExports.flatMap(({ entries: exported }) =>
    exported.flatMap(({ exportName, moduleRequest }) =>
      moduleRequest === null && exportName.name !== null ? [exportName.name] : [],
    ),
  );
}

/** Returns for each file the names that others take from it. A file that is imported whole lends the names in the text. */
function takenNames(): ReadonlyMap<string, ReadonlySet<string>> {
  const taken = new Map<string, Set<string>>();
  for (const { imports, text, path } of sources) {
    const words = new Set(text.match(/[\w$]+/g));
    for (const { target, names, dynamic } of imports) {
      const source = byPath.get(target);
      if (source === undefined || target === path) continue;
      const all = taken.get(target) ?? new Set();
      taken.set(target, all);
      for (const name of names) all.add(name);
      if (dynamic || names.length === 0)
        for (const name of exportsOf(source)) if (words.has(name)) all.add(name);
    }
  }
  return taken;
}

test("every export is imported by another file; a type may also stand in its own file's signatures", () => {
  const taken = takenNames();
  const unused = sources.flatMap((source) =>
    exportsOf(source)
      .filter((name) => name !== "default" && taken.get(source.path)?.has(name) !== true)
      .filter((name) => !isNamedType(source, name))
      .map((name) => `${source.path}: ${name}`)
      .filter((name) => !calledByName.has(name)),
  );
  expect(unused).toEqual([]);
});

/** Whether `name` is a type that its own file uses besides declaring it. */
function isNamedType({ text }: SourceFile, name: string): boolean {
  const uses =
    text.match(new RegExp(`\\b${name.replaceAll("$", String.raw`\$`)}\\b`, "g"))?.length ?? 0;
  return uses > 1 && new RegExp(`^export (?:interface|type) ${name}\\b`, "m").test(text);
}

/** Extensions of a source and of what the build makes of it: the launcher and the daemon name either. */
const sourceName = /\.(?:tsx?|js|mjs|cjs)$/;

test("every file is reached from a program, a test or a benchmark", () => {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const source = byPath.get(path);
    if (source === undefined || reached.has(path)) return;
    reached.add(path);
    for (const { target } of source.imports) visit(target);
    // Workers, child processes and scripts of pages are started by name.
    for (const named of startedBy(source)) visit(named);
  };
  for (const { path } of sources) if (entries.some(([file]) => file.test(path))) visit(path);
  expect(sources.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
});

const pathsByName = Map.groupBy(byPath.keys(), (path) =>
  (path.split("/").at(-1) ?? "").replace(sourceName, ""),
);

/** Returns the files whose names stand in quotes in a source. */
function startedBy({ text }: SourceFile): readonly string[] {
  return [...text.matchAll(/["'`/]([\w.-]+)\.(?:tsx?|js|mjs|cjs)["'`]/g)].flatMap(
    ([, name = ""]) => pathsByName.get(name.replace(sourceName, "")) ?? [],
  );
}

test("a setting of the linter or formatter names files that exist", () => {
  const paths = listPaths([...productRooms, "bin", "test", "bench", "docs"]);
  const named = [".oxlintrc.json", ".oxfmtrc.json"].flatMap((file) =>
    [
      ...readFileSync(join(root, file), "utf8").matchAll(
        /"((?:bin|bench|cli|daemon|storage|test)\/[\w/.-]*)/g,
      ),
    ].map(([, path = ""]) => path),
  );
  const missing = named.filter(
    (name) => !existsSync(join(root, name)) && !paths.some((path) => path.startsWith(name)),
  );
  expect(missing).toEqual([]);
});
