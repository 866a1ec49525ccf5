import { type Document, isAlias, isNode, isScalar, LineCounter, parseDocument, visit } from "yaml";
import type { ExpressionValue } from "./expressions/values.ts";

/** A workflow file that is invalid. The message is shown to its author; `line` counts from 1. */
export class WorkflowError extends Error {
  readonly line: number;
  constructor(message: string, line: number) {
    super(message);
    this.name = "WorkflowError";
    this.line = line;
  }
}

/** Largest workflow file in bytes: the worst known file of this size takes half a second. */
export const WORKFLOW_BYTES_MAX = 128 * 1024;
/** Maximum number of nodes that aliases may add; the parser counts the nodes that each alias expands to. */
const ALIASES_MAX = 100;
/** Deepest nesting: the code that reads the value recurses. */
const DEPTH_MAX = 64;

/** A parsed YAML file. */
export type YamlSource = ReturnType<typeof parseYaml>;

/** Parses a file into JSON. Throws `WorkflowError` for invalid YAML and for files beyond the limits. */
export function parseYaml(text: string) {
  if (Buffer.byteLength(text) > WORKFLOW_BYTES_MAX)
    throw new WorkflowError(`a workflow has at most ${WORKFLOW_BYTES_MAX / 1024} KiB`, 1);
  if (text.includes("\0"))
    throw new WorkflowError(NUL, text.split("\0", 1).join().split("\n").length);
  if (nestsTooDeeply(text)) throw new WorkflowError("the file is nested too deeply", 1);
  const lines = new LineCounter();
  const parse = () => {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      merge: true,
      uniqueKeys: false,
      // A file must not write warnings to the standard error of the daemon.
      logLevel: "error",
    });
    const [error] = document.errors;
    if (error !== undefined)
      throw new WorkflowError(`invalid YAML: ${error.message}`, lines.linePos(error.pos[0]).line);
    const tag = document.warnings.find(({ code }) => code === "TAG_RESOLVE_FAILED");
    if (tag !== undefined)
      throw new WorkflowError(
        "invalid YAML: a text that begins with ! must be in quotes",
        lines.linePos(tag.pos[0]).line,
      );
    assertTexts(document, lines);
    assertAnchors(document, lines);
    assertKeys(document, lines);
    const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
    return { document, value };
  };
  const { document, value } = refuseOverflow(parse);
  return {
    value: toJson(value, 0),
    /** Returns the line of a value, or of the nearest value above it that is in the file. */
    lineOf(path: readonly (string | number)[]): number {
      for (let length = path.length; length > 0; length -= 1) {
        const node = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range != null) return lines.linePos(node.range[0]).line;
      }
      return 1;
    },
  };
}

/**
 * Returns whether a file opens more brackets than it closes, or more lists on one line, than any workflow does: the
 * parser needs seconds before its stack overflows. Brackets within texts count as well, so the bound is generous.
 */
function nestsTooDeeply(text: string): boolean {
  let depth = 0;
  for (const [sign] of text.matchAll(/[[\]{}]/g)) {
    depth = Math.max(0, depth + (sign === "[" || sign === "{" ? 1 : -1));
    if (depth > BRACKETS_MAX) return true;
  }
  return COMPACT_LISTS.test(text);
}

const BRACKETS_MAX = 100;
const COMPACT_LISTS = /^[ \t]*(?:[-?:][ \t]+){65}/m;

/** Neither a database nor a program takes a text with a NUL, which a file has as it is or as `"\\0"`. */
function assertTexts(document: Document, lines: LineCounter): void {
  visit(document, {
    Scalar(_key, { value, range }) {
      if (typeof value === "string" && value.includes("\0"))
        throw new WorkflowError(NUL, lines.linePos(range?.[0] ?? 0).line);
    },
  });
}

const NUL = "a text has a NUL character";

/** Refuses aliases without an earlier anchor: the parser detects them only when it creates values. */
function assertAnchors(document: Document, lines: LineCounter): void {
  const anchors = new Set<string>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        if (anchors.has(node.source)) return;
        const { line } = lines.linePos(node.range?.[0] ?? 0);
        throw new WorkflowError(`invalid YAML: no anchor &${node.source} before its alias`, line);
      }
      if (node.anchor !== undefined) anchors.add(node.anchor);
    },
  });
}

/** Refuses repeated keys. The parser compares each key with each, which takes seconds. */
function assertKeys(document: Document, lines: LineCounter): void {
  visit(document, {
    Map(_key, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const line = lines.linePos(key.range?.[0] ?? 0).line;
        if (keys.has(key.value))
          throw new WorkflowError(`invalid YAML: the key ${String(key.value)} is repeated`, line);
        keys.add(key.value);
      }
    },
  });
}

/** The parser recurses, and throws a plain error for too many aliases. */
function refuseOverflow<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof WorkflowError) throw error;
    if (error instanceof RangeError) throw new WorkflowError("the file is nested too deeply", 1);
    if (error instanceof ReferenceError)
      throw new WorkflowError("the file has too many aliases", 1);
    throw error;
  }
}

function toJson(value: unknown, depth: number): ExpressionValue {
  if (depth > DEPTH_MAX)
    throw new WorkflowError(`the file is nested more than ${DEPTH_MAX} deep`, 1);
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean" || typeof value === "number" || typeof value === "string")
    return value;
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map((each) => toJson(each, depth + 1));
  if (typeof value !== "object") throw new WorkflowError("a value is not JSON", 1);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, toJson(each, depth + 1)]),
  );
}
