import { usageError } from "../errors.ts";
import { compileSmallJq, JqTypeError } from "./small-jq.ts";

/**
 * Evaluates a jq expression and prints as `jq -r` does: strings bare, everything else as JSON on one line.
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
        .map((value) => `${typeof value === "string" ? value : JSON.stringify(value)}\n`)
        .join("");
    } catch (error) {
      if (!(error instanceof JqTypeError)) throw error;
    }
  }
  const text = JSON.stringify(input);
  const printed = await compute(() => runEngine(text, expression, ["-r", "-c"]));
  return printed === "" || printed.endsWith("\n") ? printed : `${printed}\n`;
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
