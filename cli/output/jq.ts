import { usageError } from "../errors.ts";
import { escapeJson, sanitizeText, toJson } from "./sanitize.ts";
import { compileSmallJq, JqTypeError } from "./small-jq.ts";

/**
 * Evaluates a jq expression and prints as `jq -r` does: strings bare and sanitized, everything else as JSON on one line.
 * The small evaluator answers common expressions; the real engine is loaded for all others and for type errors, and run
 * by `compute`, since an expression may have no end.
 */
export async function applyJq(
  expression: string,
  input: unknown,
  compute: (work: () => Promise<string>) => Promise<string>,
): Promise<string> {
  const small = compileSmallJq(expression);
  if (small !== undefined) {
    try {
      return small(input)
        .map((value) => `${typeof value === "string" ? sanitizeText(value) : toJson(value)}\n`)
        .join("");
    } catch (error) {
      if (!(error instanceof JqTypeError)) throw error;
    }
  }
  const text = JSON.stringify(input);
  // Without -r, so that strings can be told from other values.
  const documents = await compute(() => runEngine(text, expression, ["-c"]));
  return documents
    .split("\n")
    .filter((document) => document !== "")
    .map((document) => `${toPrinted(document)}\n`)
    .join("");
}

/** A string bare; other values as the engine wrote them, which keeps its notation of numbers. */
function toPrinted(document: string): string {
  if (!document.startsWith('"')) return escapeJson(document);
  return sanitizeText(JSON.parse(document) as string);
}

/** Refuses what is no jq expression, before a command has done what its output would be made of. */
export async function assertJq(expression: string): Promise<void> {
  if (compileSmallJq(expression) !== undefined) return;
  // Parsed and not run: on its own it may fail of what it is given, or have no end.
  await runEngine("null", `if false then (${expression}\n) else empty end`, []);
}

async function runEngine(input: string, expression: string, flags: string[]): Promise<string> {
  const { raw } = await import("jq-wasm");
  try {
    // With the blank no expression is taken for a flag.
    return await raw(input, ` ${expression}`, flags);
  } catch (error) {
    throw usageError(`--jq: ${toReason(error)}`);
  }
}

function toReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replaceAll(/^(?:Failed to execute raw query: |jq: error(?: \(at [^)]*\))?: )/gm, "")
    .trim()
    .split("\n")
    .filter((line) => !line.startsWith("jq: "))
    .join(" ");
}
