import { AppError } from "../../errors.ts";
import { compileGlob } from "../../utilities/glob.ts";
import type { Compute } from "../compute.ts";

/** Patterns that users wrote, and the names to match with them. */
export interface NamesToMatch {
  /**
   * `rules`: names of rules of branches. `filters`: branch filters of hooks, contexts of statuses. `files`: paths, in any
   * letter case. `tags`: globs, and regular expressions between slashes.
   */
  readonly kind: "rules" | "filters" | "files" | "tags";
  readonly patterns: readonly string[];
  readonly names: readonly string[];
}

/** Matches many patterns with many names: returns the positions of the matching patterns of each name, in order. */
export const matchNames = {
  name: "matchNames",
  // Names of rules without wildcards are compared as a whole.
  cost: ({ kind, patterns, names }: NamesToMatch) =>
    kind === "tags" && patterns.some(isExpression)
      ? EXPRESSION_COST * patterns.length * names.length
      : lengthOf(kind === "rules" ? patterns.filter(isPattern) : patterns) * lengthOf(names),
  length: ({ patterns, names }: NamesToMatch) => lengthOf(patterns) + lengthOf(names),
  run({ kind, patterns, names }: NamesToMatch): readonly (readonly number[])[] {
    const matchers = patterns.map(compilers[kind]);
    return names.map((name) =>
      matchers.flatMap((matches, position) => (matches(name) ? [position] : [])),
    );
  },
};

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/** Returns whether the name of a rule is a pattern. */
export function isPattern(ruleName: string): boolean {
  return /[*?{}[\]]/.test(ruleName);
}

type Matcher = (name: string) => boolean;

/** `*` matches characters within one segment of a name, `**` also across segments. */
function compileRuleName(ruleName: string): Matcher {
  if (!isPattern(ruleName)) return (branch) => ruleName === branch;
  if (ruleName.includes("**") || ruleName.includes("{")) return compileFilter(ruleName);
  const segments = ruleName.split("/").map(compileFilter);
  return (branch) => {
    const parts = branch.split("/");
    return (
      segments.length === parts.length &&
      segments.every((matches, index) => matches(parts[index] ?? ""))
    );
  };
}

function compileFilter(pattern: string): Matcher {
  return compileGlob(pattern) ?? (() => false);
}

function compileFilePattern(pattern: string): Matcher {
  const matches = compileGlob(pattern.toLowerCase(), { isOfPaths: true }) ?? (() => false);
  return (path) => matches(path.toLowerCase());
}

/** The work of a regular expression has no useful bound: it always runs in a thread, whose budget ends it. */
const EXPRESSION_COST = 1_000_000;

const isExpression = (pattern: string) => /^\/.+\/$/s.test(pattern);

/** Returns whether the pattern of a rule of tags is valid. */
export function isTagPattern(pattern: string): boolean {
  return isExpression(pattern)
    ? toExpression(pattern) !== undefined
    : compileGlob(pattern) !== undefined;
}

function toExpression(pattern: string): RegExp | undefined {
  const [, flags = "", source = ""] = /^\/(?:\(\?(i)\))?(.*)\/$/s.exec(pattern) ?? [];
  try {
    return new RegExp(source, flags);
  } catch {
    // Not a regular expression: the rule is refused.
    return undefined;
  }
}

function compileTagPattern(pattern: string): Matcher {
  if (!isExpression(pattern)) return compileFilter(pattern);
  const expression = toExpression(pattern);
  return (tag) => expression?.test(tag) === true;
}

const compilers = {
  rules: compileRuleName,
  filters: compileFilter,
  files: compileFilePattern,
  tags: compileTagPattern,
} satisfies Record<NamesToMatch["kind"], (pattern: string) => Matcher>;

/** Cost of one call of a thread: well below its budget. */
const BATCH_COST = 40_000_000;

/**
 * Matches as `matchNames`, in worker threads when the patterns are hard, in calls that each stay within their budget.
 * Refuses with `unavailable` when that takes too long.
 */
export async function matchInBatches(
  compute: Compute,
  { kind, patterns, names }: NamesToMatch,
  account: string,
): Promise<readonly (readonly number[])[]> {
  const positions: (readonly number[])[] = [];
  for (const batch of toBatches(kind, patterns, names)) {
    const computed = await compute.run(matchNames, { kind, patterns, names: batch }, account);
    if (computed.kind === "exceeded")
      throw new AppError(
        "unavailable",
        `matching the patterns of the rules takes ${computed.reason}`,
      );
    positions.push(...computed.value);
  }
  return positions;
}

function toBatches(
  kind: NamesToMatch["kind"],
  patterns: readonly string[],
  names: readonly string[],
): string[][] {
  const batches: string[][] = [];
  let cost = Infinity;
  for (const name of names) {
    const own = matchNames.cost({ kind, patterns, names: [name] });
    if (cost + own > BATCH_COST) {
      batches.push([]);
      cost = 0;
    }
    batches.at(-1)?.push(name);
    cost += own;
  }
  return batches;
}
