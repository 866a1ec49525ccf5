import { usageError } from "../errors.ts";
import { escapeJson, sanitizeText, toJson } from "./sanitize.ts";
import { compileSmallJq, JqTypeError } from "./small-jq.ts";

/**
 * Evaluates a jq expression and prints as `jq -r` does: strings bare and sanitized, everything else as JSON on one line.
 * The small evaluator answers common expressions, because loading the engine takes 71 ms of CPU time where the whole
 * command takes 49. The engine answers all others and words type errors; `compute` runs it, since an expression may not
 * end.
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
  // Without -r, to distinguish strings from other values.
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
  return sanitizeText(String(JSON.parse(document)));
}

/** Refuses an invalid jq expression before the command does anything. @throws CliError `usage` */
export async function assertJq(expression: string): Promise<void> {
  if (compileSmallJq(expression) !== undefined) return;
  // Parsed and not run: with this input it might fail, or not end.
  await runEngine("null", `if false then (${expression}\n) else empty end`, [], expression);
}

async function runEngine(
  input: string,
  expression: string,
  flags: string[],
  shown = expression,
): Promise<string> {
  const { raw } = await import("jq-wasm");
  try {
    // The leading blank keeps an expression from being parsed as a flag.
    return await raw(input, ` ${expression}`, flags);
  } catch (error) {
    const reason = toReason(error);
    const isInvalid = /^syntax error|is not defined$/.test(reason);
    if (!isInvalid) throw usageError(`--jq: ${reason}`, hintOf(reason));
    const problem = /unexpected/.test(reason) ? "" : `: ${reason}`;
    throw usageError(
      `--jq: ${JSON.stringify(shown)} is not a jq expression${problem}`,
      'check brackets and quotes; "croft help formatting" has examples such as .[].name',
    );
  }
}

/** The result is often a list, where the fields of one item are expected. */
function hintOf(reason: string): string | undefined {
  return /^Cannot index array with/.test(reason)
    ? "the output is a list: begin with .[]"
    : undefined;
}

function toReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (
    text
      .replaceAll(/^(?:Failed to execute raw query: |jq: error(?: \(at [^)]*\))?: )/gm, "")
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("jq: "))
      .join(" ")
      // Places count from the text around the expression, which the person has not written.
      .replace(/(?: \(Unix shell quoting issues\?\))? at <(?:top-level|unknown)>, line[^]*$/, "")
  );
}
