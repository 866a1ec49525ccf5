import { expect, test } from "vitest";
import { productRooms, readSources, visitNodes, type SourceFile } from "./source-tree.ts";

// Node ends a process whose forgotten file handle is garbage collected, and a process whose promise is rejected without a
// handler. Both happen when something fails between the opening and its owner, or when a client leaves at that moment.

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** Files whose handle lives as long as an object with `close`; each closes it when the next step of its opening fails. */
const keepers = new Set([
  // Opens the log again at any line, and closes it after any failure.
  "cli/profile/daemon-log.ts",
  // Follows the log through rotations, and closes each file in `finally`.
  "cli/commands/daemon/logs.ts",
]);

test("an opened file has an owner from its first line", () => {
  const sources = readSources(productRooms, "node:fs/promises").filter(
    ({ path }) => !keepers.has(path),
  );
  const ownerless = sources.flatMap((source) =>
    ownerlessFiles(source).map((line) => `${source.path}:${line}`),
  );
  expect(ownerless).toEqual([]);
});

test.each([
  ["await using file = await open(p); return file.stat();", []],
  ["const file = owner.own(await open(p)); return file.stat();", []],
  [
    "const file = await open(p); try { return await file.stat(); } finally { await file.close(); }",
    [],
  ],
  ["return open(p);", []],
  ["const f = () => open(p).catch(ignore);", []],
  ["const file = await open(p); const { size } = await file.stat(); return { file, size };", [2]],
  [
    "const file = await open(p).catch(fail); await other(); try { } finally { await file.close(); }",
    [2],
  ],
])("finds the opened files without an owner in %j", async (text, lines) => {
  expect(
    ownerlessFiles(
      await toSource(`import { open } from "node:fs/promises";\nasync function f() { ${text} }`),
    ),
  ).toEqual(lines);
});

test("a promise that is started in passing ends in a handler", () => {
  const floating = readSources(productRooms, "void")
    .filter(({ path }) => !path.startsWith("cli/ui/"))
    .flatMap((source) => floatingCalls(source).map((line) => `${source.path}:${line}`));
  expect(floating).toEqual([]);
});

test.each([
  ["async function run() {}\nconst f = () => void run();", [2]],
  ["const run = async () => 1;\nsetTimeout(() => void run(), 1);", [2]],
  ["async function run() {}\nconst f = () => void run().catch(report);", []],
  ["function run() {}\nconst f = () => void run();", []],
])("finds the promises without a handler in %j", async (text, lines) => {
  expect(floatingCalls(await toSource(text))).toEqual(lines);
});

/** Lines of calls of `open` (node:fs/promises) whose file no statement owns before the next one may fail. */
function ownerlessFiles(source: SourceFile): number[] {
  const opens = source.imports.some(
    ({ target, names }) => target === "node:fs/promises" && names.includes("open"),
  );
  if (!opens) return [];
  const calls: Node[] = [];
  const owned: Node[] = [];
  const own = (node: Node | null | undefined) => {
    if (node != null) owned.push(node);
  };
  const blocks: (readonly Node[])[] = [];
  const functions: Node[] = [];
  const awaits: Node[] = [];
  visitNodes(source, {
    BlockStatement: ({ body }) => void blocks.push(body),
    AwaitExpression: (node) => void awaits.push(node),
    FunctionExpression: (node) => void functions.push(node),
    FunctionDeclaration: (node) => void functions.push(node),
    ReturnStatement: ({ argument }) => own(argument),
    ArrowFunctionExpression(node) {
      functions.push(node);
      if (node.body.type !== "BlockStatement") own(node.body);
    },
    VariableDeclaration(node) {
      if (node.kind === "await using") own(node);
    },
    CallExpression({ callee, arguments: args, start, end, type }) {
      if (callee.type === "Identifier" && callee.name === "open") calls.push({ start, end, type });
      const takesOver =
        callee.type === "MemberExpression" &&
        callee.property.type === "Identifier" &&
        callee.property.name === "own";
      if (takesOver) for (const arg of args) own(arg);
    },
  });
  const contains = (outer: Node, inner: Node) =>
    outer.start <= inner.start && inner.end <= outer.end;
  /** Whether a statement waits itself, not only in a function that it makes. */
  const waits = (statement: Node) =>
    awaits.some(
      (each) =>
        contains(statement, each) &&
        !functions.some((inner) => contains(statement, inner) && contains(inner, each)),
    );
  const isOwner = (statement: Node) =>
    ["TryStatement", "ReturnStatement"].includes(statement.type) ||
    source.text.slice(statement.start, statement.end).match(/owner\.own\(|createOwner\(\w/) !==
      null;
  // Owned by a `try`, an owner or the caller before anything is waited for.
  for (const block of blocks)
    for (const [index, statement] of block.entries()) {
      const next = block.slice(index + 1).find((each) => isOwner(each) || waits(each));
      if (statement.type === "VariableDeclaration" && next !== undefined && isOwner(next))
        own(statement);
    }
  const isIn = (call: Node) => owned.some((each) => contains(each, call));
  return calls.filter((call) => !isIn(call)).map(({ start }) => source.lineAt(start));
}

/** Lines of `void f()` where `f` is an async function of the file; the linter sees only statements. */
function floatingCalls(source: SourceFile): number[] {
  const asyncNames = new Set<string>();
  visitNodes(source, {
    FunctionDeclaration({ id, async }) {
      if (async && id !== null) asyncNames.add(id.name);
    },
    VariableDeclarator({ id, init }) {
      if (id.type === "Identifier" && init?.type === "ArrowFunctionExpression" && init.async)
        asyncNames.add(id.name);
    },
  });
  const lines: number[] = [];
  visitNodes(source, {
    UnaryExpression({ operator, argument, start }) {
      if (operator !== "void" || argument.type !== "CallExpression") return;
      const { callee } = argument;
      if (callee.type === "Identifier" && asyncNames.has(callee.name))
        lines.push(source.lineAt(start));
    },
  });
  return lines;
}

async function toSource(text: string): Promise<SourceFile> {
  const { parseSync } = await import("rolldown/utils");
  const imports = text.includes("node:fs/promises")
    ? [
        {
          target: "node:fs/promises",
          specifier: "node:fs/promises",
          names: ["open"],
          typeOnly: false,
          dynamic: false,
          line: 1,
        },
      ]
    : [];
  return {
    path: "sample.ts",
    text,
    parsed: parseSync("sample.ts", text),
    lineAt: (offset) => text.slice(0, offset).split("\n").length,
    imports,
  };
}
