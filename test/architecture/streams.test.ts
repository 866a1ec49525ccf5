import { expect, test } from "vitest";
import { productRooms, readSources, visitNodes, type SourceFile } from "./source-tree.ts";

// A file stream opens lazily: its error may come after the reader has left, and an error without a listener ends the process.
const FILE_STREAMS = new Set(["createReadStream", "createWriteStream"]);

interface Call {
  readonly start: number;
  readonly end: number;
}

test("every file stream has an owner that handles its error", () => {
  const sources = readSources([...productRooms, "bench"], "Stream");
  const ownerless = sources.flatMap((source) =>
    ownerlessStreams(source).map((line) => `${source.path}:${line}`),
  );
  expect(ownerless).toEqual([]);
});

test.each([
  ["const a = createReadStream(p); return a;", [1]],
  ["return { open: () => createReadStream(p) };", [1]],
  ["x = file.createWriteStream();", [1]],
  ["const a = createReadStream(p);\na.on('error', ignore);", []],
  ["let a;\na = file.createReadStream(p);\na.on('error', ignore);", []],
  ["const b = createReadStream(p);\na.on('error', ignore);", [1]],
  ["for await (const chunk of createReadStream(p)) yield chunk;", []],
  ["await pipeline(createReadStream(p), sink);", []],
  ["const a = owner.own(createWriteStream(p));", []],
  ["const sink = file.createWriteStream();\nawait pipeline(source, sink);", []],
])("finds the file streams without an owner in %j", async (text, lines) => {
  const { parseSync } = await import("rolldown/utils");
  const wrapped = `async function* f() { ${text}\n}`;
  const lineAt = (offset: number) => wrapped.slice(0, offset).split("\n").length;
  const parsed = parseSync("sample.ts", wrapped);
  expect(
    ownerlessStreams({ path: "sample.ts", text: wrapped, parsed, lineAt, imports: [] }),
  ).toEqual(lines);
});

/** Lines of calls that neither a loop, a pipeline nor a listener of the same file owns. */
function ownerlessStreams(source: SourceFile): number[] {
  const calls: Call[] = [];
  const owned = new Set<number>();
  const named = new Map<string, number[]>();
  const handled = new Set<string>();
  const own = (node: Call | null | undefined) => {
    if (node != null) owned.add(node.start);
  };
  const name = (target: { type: string; name?: string }, value: Call | null) => {
    if (target.type !== "Identifier" || target.name === undefined || value === null) return;
    named.set(target.name, [...(named.get(target.name) ?? []), value.start]);
  };
  visitNodes(source, {
    ForOfStatement: ({ right }) => own(right),
    VariableDeclarator: ({ id, init }) => name(id as { type: string; name?: string }, init),
    AssignmentExpression: ({ left, right }) => name(left as { type: string; name?: string }, right),
    CallExpression({ callee, arguments: args, start, end }) {
      if (callee.type === "Identifier" && callee.name === "pipeline")
        for (const arg of args) {
          own(arg);
          if (arg.type === "Identifier") handled.add(arg.name);
        }
      if (callee.type === "MemberExpression" && callee.property.type === "Identifier") {
        const [event] = args;
        // An owner destroys the stream on every way out of its block (storage/owner.ts).
        if (callee.property.name === "own") own(event);
        const isListener = callee.property.name === "on" && event?.type === "Literal";
        if (isListener && event.value === "error" && callee.object.type === "Identifier")
          handled.add(callee.object.name);
      }
      const called = callee.type === "MemberExpression" ? callee.property : callee;
      if (called.type === "Identifier" && FILE_STREAMS.has(called.name)) calls.push({ start, end });
    },
  });
  for (const variable of handled) for (const start of named.get(variable) ?? []) owned.add(start);
  return calls.filter(({ start }) => !owned.has(start)).map(({ start }) => source.lineAt(start));
}
