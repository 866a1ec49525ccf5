import { basename } from "node:path";
import { expect, test } from "vitest";
import { listPaths, productRooms, readSources, visitNodes } from "./source-tree.ts";

/** The largest file that a reader still takes in as one thing. */
const linesMax = 400;

const handlerLinesMax = 10;

/** The abstract classes that a library demands to be extended. */
const extendable = new Set([
  "Error",
  "TypeError",
  "RangeError",
  "Readable",
  "Writable",
  "Transform",
  "Duplex",
]);

const sources = readSources([...productRooms, "bin"]);
const everySource = readSources([...productRooms, "bin", "test", "bench"]);

/** `path name` of whatever some file imports by its name. */
const imported = new Set(
  everySource.flatMap(({ imports }) =>
    imports.flatMap(({ target, names }) => names.map((name) => `${target} ${name}`)),
  ),
);

/** Modules that are imported as a namespace, such as the commands: imports do not show which members are used. */
const importedWhole = new Set(
  everySource.flatMap(({ imports }) =>
    imports.filter(({ names }) => names.length === 0).map(({ target }) => target),
  ),
);

test("files and folders are named in kebab-case, roles as suffixes", () => {
  const wrong = listPaths([...productRooms, "bin", "test", "bench"])
    .filter((path) => /\.(tsx?|js|sql)$/.test(path))
    .filter(
      (path) =>
        !/^([a-z0-9-]+\/)*[a-z0-9]+(-[a-z0-9]+|_[a-z0-9]+)*(\.[a-z0-9-]+)*\.(tsx?|js|sql)$/.test(
          path,
        ),
    );
  expect(wrong).toEqual([]);
});

test("migrations have unique numbers and begin with a comment", () => {
  const names = listPaths(["storage/migrations"]).map((path) => basename(path));
  expect(
    names.filter((name) => !/^\d{4}_[a-z0-9_]+(\.(sqlite|postgres))?\.sql$/.test(name)),
  ).toEqual([]);
  const numbers = names
    .filter((name) => !name.includes(".postgres."))
    .map((name) => name.slice(0, 4));
  expect(numbers).toEqual([...new Set(numbers)]);
});

test("no folder has an index file: an import names the file it means", () => {
  expect(
    everySource.map(({ path }) => path).filter((path) => /(^|\/)index\.[jt]sx?$/.test(path)),
  ).toEqual([]);
});

test("no module re-exports another: barrels hide dependencies", () => {
  const wrong = everySource.flatMap(({ path, parsed, lineAt }) =>
    parsed.module.staticExports
      .filter(({ entries }) => entries.some(({ moduleRequest }) => moduleRequest !== null))
      .map(({ start }) => `${path}:${lineAt(start)}`),
  );
  expect(wrong).toEqual([]);
});

test("no file has a default export: a thing has one name everywhere", () => {
  const wrong = everySource.flatMap(({ path, parsed, lineAt }) =>
    parsed.module.staticExports
      .filter(({ entries }) => entries.some(({ exportName }) => exportName.kind === "Default"))
      .map(({ start }) => `${path}:${lineAt(start)}`),
  );
  expect(wrong).toEqual([]);
});

test("every export is used, at least in its own file", () => {
  const wrong = sources
    .filter(({ path }) => !importedWhole.has(path))
    .flatMap(({ path, text, parsed, lineAt }) =>
      parsed.module.staticExports.flatMap(({ entries }) =>
        entries
          .map(({ exportName: { name, start } }) => ({ name: name ?? "", start: start ?? 0 }))
          .filter(({ name }) => !imported.has(`${path} ${name}`) && countWord(text, name) === 1)
          .map(({ name, start }) => `${path}:${lineAt(start)} ${name}`),
      ),
    );
  expect(wrong).toEqual([]);
});

test("classes extend only errors and base classes that a library demands", () => {
  const wrong: string[] = [];
  for (const source of sources.filter(({ text }) => text.includes("extends"))) {
    visitNodes(source, {
      ClassDeclaration({ superClass, start }) {
        if (superClass === null || superClass === undefined) return;
        const name = superClass.type === "Identifier" ? superClass.name : "an expression";
        if (!extendable.has(name))
          wrong.push(`${source.path}:${source.lineAt(start)} extends ${name}`);
      },
    });
  }
  expect(wrong).toEqual([]);
});

test(`no file is longer than ${linesMax} lines`, () => {
  const long = sources
    .map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .filter(({ lines }) => lines > linesMax)
    .map(({ path, lines }) => `${path}: ${lines} lines`);
  expect(long).toEqual([]);
});

test("no variable at the top of a module can be reassigned: state belongs to its creator", () => {
  const wrong = readSources(productRooms).flatMap(({ path, parsed, lineAt }) =>
    parsed.program.body
      .map((node) => (node.type === "ExportNamedDeclaration" ? node.declaration : node))
      .filter((node) => node?.type === "VariableDeclaration" && node.kind !== "const")
      .map((node) => `${path}:${lineAt(node?.start ?? 0)}`),
  );
  expect(wrong).toEqual([]);
});

test(`a routes file holds no rules: no branch, loop or throw, and handlers of at most ${handlerLinesMax} lines`, () => {
  const wrong: string[] = [];
  for (const source of readSources(["daemon"]).filter(({ path }) => path.endsWith(".routes.ts"))) {
    const report = ({ start }: { start: number }) =>
      wrong.push(`${source.path}:${source.lineAt(start)}`);
    visitNodes(source, {
      CallExpression({ callee, arguments: [, handler] }) {
        if (callee.type !== "Identifier" || callee.name !== "handle" || handler === undefined)
          return;
        const lines = source.lineAt(handler.end) - source.lineAt(handler.start) + 1;
        if (lines > handlerLinesMax)
          wrong.push(`${source.path}:${source.lineAt(handler.start)} ${lines} lines`);
      },
      IfStatement: report,
      SwitchStatement: report,
      ForStatement: report,
      ForOfStatement: report,
      WhileStatement: report,
      TryStatement: report,
      ThrowStatement: report,
    });
  }
  expect(wrong).toEqual([]);
});

function countWord(text: string, word: string): number {
  return text.split(/[^\w$]+/).filter((each) => each === word).length;
}
