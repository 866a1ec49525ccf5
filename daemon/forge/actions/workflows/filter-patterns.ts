/** One step of a pattern: the characters that it accepts, how often, and the number of steps that may be skipped. */
interface Step {
  readonly accepts: (character: string) => boolean;
  isOptional: boolean;
  repeats: boolean;
  /** Number of steps that may be skipped from here: the double star of a folder and its slash. */
  skips: number;
}

/** Longest pattern in characters. */
const PATTERN_CHARACTERS_MAX = 255;

/**
 * Compiles the patterns of a filter of branches, tags or paths: `*` any text without a slash, `**` any text, `?` and
 * `+` after a character, `[a-z]` a set, a leading `!` excludes matches of earlier patterns, the last match decides.
 * Returns undefined when a pattern is malformed. Matching simulates an automaton, so its time is bounded by the product
 * of both lengths.
 */
export function compileFilter(
  patterns: readonly string[],
): ((text: string) => boolean) | undefined {
  const compiled: { readonly accepts: boolean; readonly steps: readonly Step[] }[] = [];
  for (const pattern of patterns) {
    const isNegative = pattern.startsWith("!");
    const steps = toSteps(isNegative ? pattern.slice(1) : pattern);
    if (steps === undefined) return undefined;
    compiled.push({ accepts: !isNegative, steps });
  }
  return (text) => {
    const last = compiled.findLast(({ steps }) => matches(steps, text));
    return last?.accepts === true;
  };
}

function toSteps(pattern: string): Step[] | undefined {
  if (pattern.length === 0 || pattern.length > PATTERN_CHARACTERS_MAX) return undefined;
  const steps: Step[] = [];
  const add = (accepts: Step["accepts"], isAny = false) =>
    steps.push({ accepts, isOptional: isAny, repeats: isAny, skips: 0 });
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    const last = steps.at(-1);
    if (character === "*" && pattern[at + 1] === "*") {
      const isFolder = pattern[at + 2] === "/" && (at === 0 || pattern[at - 1] === "/");
      // `**/x` also matches `x`: the stars and their slash are left out together.
      if (isFolder) steps.push({ accepts: never, isOptional: true, repeats: false, skips: 2 });
      add(() => true, true);
      at += 1;
    } else if (character === "*") add((one) => one !== "/", true);
    else if ((character === "?" || character === "+") && last !== undefined) {
      if (character === "?") last.isOptional = true;
      else last.repeats = true;
    } else if (character === "[") {
      const end = pattern.indexOf("]", at + 2);
      const set = end === -1 ? undefined : toSet(pattern.slice(at + 1, end));
      if (set === undefined) return undefined;
      add(set);
      at = end;
    } else if (character === "\\") {
      const escaped = pattern[(at += 1)];
      if (escaped === undefined) return undefined;
      add((one) => one === escaped);
    } else add((one) => one === character);
  }
  return steps;
}

function toSet(text: string): ((character: string) => boolean) | undefined {
  const ranges = [...text.matchAll(/(.)-(.)|(.)/gs)].map(
    ([, from, to, single]) => [from ?? single ?? "", to ?? single ?? ""] as const,
  );
  if (ranges.some(([from, to]) => from > to)) return undefined;
  return (character) => ranges.some(([from, to]) => character >= from && character <= to);
}

function matches(steps: readonly Step[], text: string): boolean {
  let states = closure(steps, [0]);
  for (const character of text) {
    const next: number[] = [];
    for (const state of states) {
      const step = steps[state];
      if (step === undefined || !step.accepts(character)) continue;
      if (step.repeats) next.push(state);
      next.push(state + 1);
    }
    states = closure(steps, next);
    if (states.size === 0) return false;
  }
  return states.has(steps.length);
}

/** Adds the states that are reached without a character. */
function closure(steps: readonly Step[], from: readonly number[]): Set<number> {
  const states = new Set<number>();
  const pending = [...from];
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    if (states.has(state)) continue;
    states.add(state);
    const step = steps[state];
    if (step?.isOptional !== true) continue;
    pending.push(state + 1, state + 1 + step.skips);
  }
  return states;
}

const never = () => false;
