import { compileGlob } from "../../utilities/glob.ts";

/** Patterns that users wrote, and the names to match with them. */
export interface NamesToMatch {
  /** `rules`: names of rules of branches. `filters`: branch filters of hooks. */
  readonly kind: "rules" | "filters";
  readonly patterns: readonly string[];
  readonly names: readonly string[];
}

/** Matches many patterns with many names: returns the positions of the matching patterns of each name, in order. */
export const matchNames = {
  name: "matchNames",
  // Names of rules without wildcards are compared as a whole.
  cost: ({ kind, patterns, names }: NamesToMatch) =>
    lengthOf(kind === "rules" ? patterns.filter(isPattern) : patterns) * lengthOf(names),
  length: ({ patterns, names }: NamesToMatch) => lengthOf(patterns) + lengthOf(names),
  run({ kind, patterns, names }: NamesToMatch): readonly (readonly number[])[] {
    const matchers = patterns.map(kind === "rules" ? compileRuleName : compileFilter);
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
