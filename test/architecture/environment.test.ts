import { expect, test } from "vitest";
import { productRooms, readSources, visitNodes } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";

/** The only files that see the process, the clock and chance; all other files receive their dependencies. */
const entryFiles = new Set([
  "daemon/main.ts",
  "daemon/composition/compose.ts",
  "daemon/composition/forge-core.ts",
  "daemon/composition/forge-features.ts",
  "daemon/composition/open-vault.ts",
  "daemon/composition/repositories.ts",
  "daemon/jobs/serve-process.ts",
  "storage/git/git-launcher.process.ts",
  "cli/main.ts",
  "cli/context.ts",
  "cli/system.ts",
]);

const processMembers = new Set([
  "env",
  "argv",
  "exit",
  "exitCode",
  "stdin",
  "stdout",
  "stderr",
  "cwd",
  "chdir",
  "umask",
  "on",
  "once",
]);

test.each([
  [
    "process",
    processMembers,
    "the environment, the streams and the end of the process belong to the entry files",
  ],
  [
    "Date",
    new Set(["now"]),
    "the clock is handed in, so that tests can set it and one change carries one time",
  ],
  ["Math", new Set(["random"]), "the random source is handed in, so that tests can foresee it"],
  ["console", undefined, "output goes through the logger or the command line's io"],
] as const)("nothing below the entry files uses %s", (object, members, because) => {
  const wrong = readSources(productRooms, object)
    .filter(({ path }) => !entryFiles.has(path))
    .flatMap((source) => usesOf(source, object, members).map((use) => `${use}: ${because}`));
  expect(wrong).toEqual([]);
});

test("nothing below the entry files reads the time with `new Date()`", () => {
  const wrong: string[] = [];
  const sources = readSources(productRooms, "Date").filter(({ path }) => !entryFiles.has(path));
  for (const source of sources) {
    visitNodes(source, {
      NewExpression({ callee, arguments: args, start }) {
        if (callee.type !== "Identifier" || callee.name !== "Date" || args.length > 0) return;
        wrong.push(`${source.path}:${source.lineAt(start)}`);
      },
    });
  }
  expect(wrong).toEqual([]);
});

function usesOf(
  source: SourceFile,
  object: string,
  members: ReadonlySet<string> | undefined,
): string[] {
  const uses: string[] = [];
  if (declares(source, object)) return uses;
  visitNodes(source, {
    MemberExpression({ object: left, property, start }) {
      if (left.type !== "Identifier" || left.name !== object) return;
      const member = property.type === "Identifier" ? property.name : "[…]";
      if (members !== undefined && !members.has(member)) return;
      uses.push(`${source.path}:${source.lineAt(start)} ${object}.${member}`);
    },
  });
  return uses;
}

/** A parameter, a binding or an import of that name shadows the global, so it is a dependency. */
function declares(source: SourceFile, name: string): boolean {
  let found = source.parsed.module.staticImports.some(({ entries }) =>
    entries.some(({ localName }) => localName.value === name),
  );
  const inPattern = (node: { type: string; name?: string } | null) => {
    if (node?.type === "Identifier" && node.name === name) found = true;
  };
  visitNodes(source, {
    VariableDeclarator: ({ id }) => inPattern(id),
    ObjectPattern: ({ properties }) => {
      for (const property of properties)
        if (property.type === "Property") inPattern(property.value);
    },
    FunctionDeclaration: ({ params }) =>
      params.forEach((param) => inPattern("parameter" in param ? null : param)),
    ArrowFunctionExpression: ({ params }) =>
      params.forEach((param) => inPattern("parameter" in param ? null : param)),
  });
  return found;
}
