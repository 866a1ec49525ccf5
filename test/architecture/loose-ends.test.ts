import { readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { expect, test } from "vitest";
import { listPaths, productRooms, readSources, root, visitNodes } from "./source-tree.ts";

const texts = listPaths([...productRooms, "bin", "test", "bench", "docs"])
  .filter((path) => /\.(tsx?|js|sql|md|json|sh)$/.test(path))
  .map((path) => ({ path, lines: readFileSync(join(root, path), "utf8").split("\n") }));

test("a note about unfinished work carries the number of its issue", () => {
  expect(linesLike(/\b(TO[D]O|FI[X]ME|X{3})\b(?!\(#\d+\))/, /\.(tsx?|js|sql)$/)).toEqual([]);
});

test("a disabled lint rule has its reason on the same line", () => {
  expect(linesLike(/(oxlint|eslint)-disable(?!.* -- \w)/)).toEqual([]);
});

test("no error of the compiler is silenced", () => {
  expect(linesLike(/@ts-(ignore|expect-erro[r]|nocheck)/)).toEqual([]);
});

test("every test file belongs to a layer, or it would never run", () => {
  const config = readFileSync(join(root, "vitest.config.ts"), "utf8");
  const patterns = [...config.matchAll(/"(test\/[^"]+)"/g)].map(([, pattern = ""]) => pattern);
  const files = listPaths(["test"]).filter((path) => /\.(test|smoke)\.[jt]sx?$/.test(path));
  expect(files.filter((file) => !patterns.some((pattern) => matchesGlob(file, pattern)))).toEqual(
    [],
  );
});

test("a test that replaces a module has a process of its own, where no other file has loaded it", () => {
  const config = readFileSync(join(root, "vitest.config.ts"), "utf8");
  const isolated = config.slice(
    config.indexOf("const isolated"),
    config.indexOf("const ofDatabase"),
  );
  const paths = linesLike(/^\s*vi\.(?:mock|doMock)\(/, /\.test\.tsx?$/).map(
    (line) => line.split(":")[0],
  );
  expect(paths.length).toBeGreaterThan(0);
  expect(paths.filter((path) => !isolated.includes(`"${path}"`))).toEqual([]);
});

test("no test is singled out or put off", () => {
  expect(linesLike(/\b(test|it|describe)(\.\w+)*\.(only|todo|skip)\(/, /\.test\.tsx?$/)).toEqual(
    [],
  );
});

test("every property test names its seed and number of cases", () => {
  const uses = texts.map(({ path, lines }) => {
    const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
    return { path, properties: count(/\bfc\.(assert|check)\(/), cases: count(/\bcases\(/) };
  });
  expect(uses.filter(({ properties, cases }) => properties > cases)).toEqual([]);
});

test("a wait of a test names its limit: the one of Vitest is a second", () => {
  const wrong: string[] = [];
  for (const source of readSources(["test"], "vi.wait"))
    visitNodes(source, {
      CallExpression({ callee, arguments: [, limit], start }) {
        const called = source.text.slice(callee.start, callee.end);
        if (["vi.waitFor", "vi.waitUntil"].includes(called) && limit === undefined)
          wrong.push(`${source.path}:${source.lineAt(start)}`);
      },
    });
  expect(wrong).toEqual([]);
});

test("no file names this machine's folders or a package registry's host", () => {
  const machine = linesWhere((line) => line.includes(`${root}/`));
  const registries = linesLike(/https?:\/\/(registry|deb)\.|resolved": "http/);
  expect([...machine, ...registries]).toEqual([]);
});

test("the lock file names versions and hashes, not where they were downloaded", () => {
  expect(readFileSync(join(root, "package-lock.json"), "utf8")).not.toContain('"resolved": "http');
});

function linesLike(pattern: RegExp, paths = /./): string[] {
  return linesWhere((line, path) => paths.test(path) && pattern.test(line));
}

function linesWhere(accept: (line: string, path: string) => boolean): string[] {
  return texts
    .filter(({ path }) => path !== "test/architecture/loose-ends.test.ts")
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        accept(line, path) ? [`${path}:${index + 1} ${line.trim()}`] : [],
      ),
    );
}

// A regular expression backtracks: with a pattern from a user, one match can take for ever on the event loop. Patterns of users
// are compiled by daemon/utilities/automaton.ts. Each file here makes its expressions from constants.
const filesWithMadeExpressions = [
  "cli/",
  "daemon/contract/media-type.ts",
  "daemon/forge/instance/missing-features.ts",
  // The public address of the server, with all characters of patterns escaped.
  "daemon/forge/issues/commit-message.ts",
  "daemon/forge/packages/npm/names.ts",
  "daemon/forge/packages/pypi/names.ts",
  // Patterns of issue forms, which always run in a thread with a budget.
  "daemon/forge/pages/field-pattern.ts",
  // Expressions of tag rules, whose cost makes every match run in a thread with a budget.
  "daemon/forge/repositories/name-patterns.ts",
  "daemon/rendering/html/",
  "daemon/rendering/markdown/",
  "daemon/http/openapi.ts",
  "daemon/settings/types.ts",
  // Secrets, with all characters of patterns escaped.
  "daemon/utilities/redaction.ts",
  "daemon/vault/accounts/machine-token-secret.ts",
  "daemon/vault/dav/lock-places.ts",
  "daemon/vault/documents/query.ts",
  "storage/cloud/local-folder/clean-up.ts",
  "storage/engine/sql-text.ts",
  "storage/git/refs.ts",
];

test("a regular expression is made at run time only from constants", () => {
  const found = linesLike(/\bRegExp\(/, /^(?:cli|daemon|storage)\/.*\.tsx?$/);
  expect(
    found.filter((line) => !filesWithMadeExpressions.some((path) => line.startsWith(path))),
  ).toEqual([]);
});

test("only the files that open databases name SQLite's driver, whose calls would wait for locks", () => {
  const found = linesLike(/from "better-sqlite3"/, /^(?:cli|daemon|storage)\/.*\.ts$/);
  const outside = found.filter((line) => !/^storage\/(?:engine\/sqlite|instance-lock)/.test(line));
  expect(outside).toEqual([]);
});
