// test/architecture: rules that are checked here, with their reasons. They read the sources as text and run none of them.
// Start here for how a file is read, then imports.test.ts for the allowed imports.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import type { ParseResult } from "rolldown/utils";

export const root = join(import.meta.dirname, "..", "..");

/** One import, whatever its form: static, dynamic, or an export from another module. */
export interface Import {
  /** A path from the root for the project's own files, else the specifier as written. */
  readonly target: string;
  readonly specifier: string;
  /** As the imported file calls them; empty when it is imported whole. */
  readonly names: readonly string[];
  readonly typeOnly: boolean;
  readonly dynamic: boolean;
  readonly line: number;
}

/** A parsed file of the project. Paths are from the root, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
  readonly parsed: ParseResult;
  readonly lineAt: (offset: number) => number;
}

/** The rooms that make up the product; tests, benchmarks and the build are not in it. */
export const productRooms = ["cli", "daemon", "storage"];

const scriptExtensions = [".ts", ".tsx", ".js"];

/** Every file below the given rooms, as paths from the root. */
export function listPaths(rooms: readonly string[]): string[] {
  return rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(root.length + 1)
          .replaceAll("\\", "/"),
      )
      .toSorted(),
  );
}

/** Every script below the given rooms that contains `word`, parsed: syntax trees take most of the time of these tests. */
export function readSources(rooms: readonly string[], word = ""): SourceFile[] {
  return listPaths(rooms)
    .filter((path) => scriptExtensions.includes(extname(path)))
    .map((path) => ({ path, text: readText(path) }))
    .filter(({ text }) => text.includes(word))
    .map(({ path, text }) => parse(path, text));
}

/** One script, parsed. */
export function readSource(path: string): SourceFile {
  return parse(path, readText(path));
}

function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function parse(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  return { path, text, parsed, lineAt, imports: toImports(path, parsed, text, lineAt) };
}

/** Calls the visitor with every node that it has a function for, in the order of the text. */
export function visitNodes(
  source: SourceFile,
  visitor: ConstructorParameters<typeof Visitor>[0],
): void {
  new Visitor(visitor).visit(source.parsed.program);
}

function toImports(
  path: string,
  { module }: ParseResult,
  text: string,
  lineAt: (offset: number) => number,
): Import[] {
  const toImport = (
    specifier: string,
    start: number,
    facts: { names: readonly string[]; typeOnly: boolean; dynamic: boolean },
  ) => ({
    target: specifier.startsWith(".")
      ? join(dirname(path), specifier).replaceAll("\\", "/")
      : specifier,
    specifier,
    line: lineAt(start),
    ...facts,
  });
  const statics = module.staticImports.map(({ moduleRequest, entries, start }) =>
    toImport(moduleRequest.value, start, {
      names: entries.flatMap(({ importName }) => importName.name ?? []),
      typeOnly: entries.length > 0 && entries.every((entry) => entry.isType),
      dynamic: false,
    }),
  );
  const exports = module.staticExports.flatMap(({ entries, start }) =>
    entries.flatMap(({ moduleRequest, isType }) =>
      moduleRequest === null
        ? []
        : [toImport(moduleRequest.value, start, { names: [], typeOnly: isType, dynamic: false })],
    ),
  );
  const dynamics = module.dynamicImports.flatMap(({ moduleRequest, start }) => {
    const written = text.slice(moduleRequest.start, moduleRequest.end);
    const literal = /^["'`]([^"'`$]*)["'`]$/.exec(written)?.[1];
    return literal === undefined
      ? []
      : [toImport(literal, start, { names: [], typeOnly: false, dynamic: true })];
  });
  return [...statics, ...exports, ...dynamics];
}
