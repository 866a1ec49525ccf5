import { parseSync } from "rolldown/utils";
import { expect, test } from "vitest";
import { readSources, type SourceFile, visitNodes } from "./source-tree.ts";

// Two kinds of fault that a reader overlooks: a loop over what users send whose work is more than its size, where all
// requests wait; and a file of a job's folder that a program has replaced by a link, a pipe or a device.

interface Loop {
  readonly start: number;
  readonly end: number;
  /** `for … of` and `for … in` go over a value once. */
  readonly isOverValue: boolean;
}

/** Loops that may be here, by their file, with the bound of their work. */
const bounded = new Map([
  ["daemon/vault/cloud/batches/batch-downloads.service.ts", "names the files of one batch"],
  ["daemon/forge/actions/runners/logs.service.ts", "goes over one chunk of a log once"],
  ["daemon/forge/packages/generic.service.ts", "reads one header"],
]);

test("routes and services go over a value once, and leave other loops to the files that bound their work", () => {
  const sources = readSources(["daemon"]).filter(({ path }) =>
    /\.(?:routes|service)\.ts$/.test(path),
  );
  const found = sources.filter((source) => wireLoops(source).length > 0).map(({ path }) => path);
  expect(found.toSorted()).toEqual([...bounded.keys()].toSorted());
});

test.each([
  ["for (const a of b) use(a);", []],
  ["for (const a of b) await use(a);", []],
  ["for (const a of b) for (const c of d) await use(a, c);", []],
  ["while (await next()) use();", []],
  ["for (const a of b) for (const c of d) use(a, c);", [1]],
  ["while (next()) use();", [1]],
  ["for (let a = 0; a < b; a += 1) use(a);", [1]],
  ["do use(); while (next());", [1]],
])("finds the loops of more than one round in %j", (text, lines) => {
  expect(wireLoops(toSource(`async function f() { ${text} }`))).toEqual(lines);
});

/** Lines of loops without a wait that are within another one, or do not go over a value. */
function wireLoops(source: SourceFile): number[] {
  const loops: Loop[] = [];
  const waits: number[] = [];
  const loop = (isOverValue: boolean) => (node: { start: number; end: number }) =>
    loops.push({ start: node.start, end: node.end, isOverValue });
  const wait = ({ start }: { start: number }) => waits.push(start);
  visitNodes(source, {
    ForOfStatement(node) {
      loop(true)(node);
      if (node.await) wait(node);
    },
    ForInStatement: loop(true),
    ForStatement: loop(false),
    WhileStatement: loop(false),
    DoWhileStatement: loop(false),
    AwaitExpression: wait,
    YieldExpression: wait,
  });
  const held = loops.filter(({ start, end }) => !waits.some((at) => at >= start && at < end));
  return held
    .filter(
      ({ start, isOverValue }) =>
        !isOverValue || held.some((outer) => outer.start < start && start < outer.end),
    )
    .map(({ start }) => source.lineAt(start));
}

/** Files of the runner that use the file system outside of a job's folder. */
const outsideOfJobs = new Map([
  ["cli/runner/places/engine.ts", "looks for the program of the container engine"],
  ["cli/runner/places/job-processes.ts", "reads and writes control groups of the system"],
]);

test("only cli/runner/files opens files of a job's folder, by ways that its programs cannot divert", () => {
  const found = readSources(["cli/runner"])
    .filter(({ path }) => !path.startsWith("cli/runner/files/"))
    .filter(({ imports }) =>
      imports.some(
        ({ target, typeOnly }) => /^(?:node:)?fs(?:\/promises)?$/.test(target) && !typeOnly,
      ),
    )
    .map(({ path }) => path);
  expect(found.toSorted()).toEqual([...outsideOfJobs.keys()].toSorted());
});

function toSource(text: string): SourceFile {
  const parsed = parseSync("loop.ts", text);
  return { path: "loop.ts", text, imports: [], parsed, lineAt: () => 1 };
}
