import {
  compileAutomaton,
  isCharacter,
  type PatternState,
  toCharacterSet,
} from "../utilities/automaton.ts";

/** Longest pattern in characters. */
const PATTERN_CHARACTERS_MAX = 255;

const SLASH = 0x2f;

/**
 * Compiles the patterns of a filter of branches, tags or paths: `*` any text without a slash, `**` any text, `?` and
 * `+` after a character, `[a-z]` a set, a leading `!` excludes matches of earlier patterns, the last match decides.
 * Returns undefined when a pattern is malformed. A match takes time in proportion to the lengths of all patterns and of
 * the text; see `compileAutomaton`. Compile a filter once for all texts of an event.
 */
export function compileFilter(
  patterns: readonly string[],
): ((text: string) => boolean) | undefined {
  const compiled: { readonly accepts: boolean; readonly matches: (text: string) => boolean }[] = [];
  for (const pattern of patterns) {
    const isNegative = pattern.startsWith("!");
    const states = toStates([...(isNegative ? pattern.slice(1) : pattern)]);
    if (states === undefined) return undefined;
    compiled.push({ accepts: !isNegative, matches: compileAutomaton(states) });
  }
  return (text) => compiled.findLast(({ matches }) => matches(text))?.accepts === true;
}

function toStates(pattern: readonly string[]): PatternState[] | undefined {
  if (pattern.length === 0 || pattern.length > PATTERN_CHARACTERS_MAX) return undefined;
  const states: PatternState[] = [];
  const addOne = (accepts: (codePoint: number) => boolean) => states.push({ accepts });
  const addAny = (accepts: (codePoint: number) => boolean) =>
    states.push({ accepts, repeats: true, skips: [states.length + 1] });
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at] ?? "";
    const last = states.at(-1);
    if (character === "*" && pattern[at + 1] === "*") {
      const isFolder = pattern[at + 2] === "/" && (at === 0 || pattern[at - 1] === "/");
      // `**/x` also matches `x`: the stars and their slash are left out together.
      if (isFolder) states.push({ skips: [states.length + 1, states.length + 3] });
      addAny(() => true);
      at += 1;
    } else if (character === "*") addAny((one) => one !== SLASH);
    else if (character === "?" && last !== undefined)
      states[states.length - 1] = { ...last, skips: [...(last.skips ?? []), states.length] };
    else if (character === "+" && last !== undefined)
      states[states.length - 1] = { ...last, repeats: true };
    else if (character === "[") {
      const end = pattern.indexOf("]", at + 2);
      const set = end === -1 ? undefined : toCharacterSet(pattern.slice(at + 1, end));
      if (set === undefined) return undefined;
      addOne(set);
      at = end;
    } else if (character === "\\") {
      const escaped = pattern[(at += 1)];
      if (escaped === undefined) return undefined;
      addOne(isCharacter(escaped));
    } else addOne(isCharacter(character));
  }
  return states;
}
