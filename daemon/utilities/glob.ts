import { compileAutomaton, isCharacter, type PatternState, toCharacterSet } from "./automaton.ts";

/** Maximum length of a pattern in characters. */
export const GLOB_CHARACTERS_MAX = 255;

const SLASH = 0x2f;
const isAny = () => true;
const isNoSlash = (codePoint: number) => codePoint !== SLASH;

/**
 * Compiles a glob: `*` any text, `?` one character, `[a-z]` and `[!a-z]` a set, `{one,other}` alternatives, `\` escapes
 * a character. In globs of paths, `*`, `?` and negated sets do not match a slash, and `**` matches any text. Returns
 * undefined for a pattern that is malformed or too long. Users write patterns: a match takes time in proportion to the
 * product of both lengths, see `compileAutomaton`. Compile a pattern once for all texts of a request.
 */
export function compileGlob(
  pattern: string,
  { isOfPaths = false }: { readonly isOfPaths?: boolean } = {},
): ((text: string) => boolean) | undefined {
  if (pattern.length > GLOB_CHARACTERS_MAX) return undefined;
  const states = toStates([...pattern], isOfPaths);
  return states && compileAutomaton(states);
}

/** The braces that are open: their first state, the start of each alternative, and the states at alternatives' ends. */
interface Alternatives {
  readonly fork: number;
  readonly starts: number[];
  readonly ends: number[];
}

function toStates(pattern: readonly string[], isOfPaths: boolean): PatternState[] | undefined {
  const isOpen = isOfPaths ? isNoSlash : isAny;
  const states: PatternState[] = [];
  let open: Alternatives | undefined;
  const addOne = (accepts: (codePoint: number) => boolean) => states.push({ accepts });
  /** Adds a state whose skips are set when the braces are closed. */
  const reserve = () => states.push({}) - 1;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at] ?? "";
    if (character === "*") {
      let stars = 1;
      for (; pattern[at + 1] === "*"; at += 1) stars += 1;
      const accepts = !isOfPaths || stars > 1 ? isAny : isNoSlash;
      states.push({ accepts, repeats: true, skips: [states.length + 1] });
    } else if (character === "?") addOne(isOpen);
    else if (character === "[") {
      const end = pattern.indexOf("]", at + (pattern[at + 1] === "!" ? 3 : 2));
      const set = end === -1 ? undefined : toSet(pattern.slice(at + 1, end));
      if (set === undefined) return undefined;
      addOne((codePoint) => isOpen(codePoint) && set(codePoint));
      at = end;
    } else if (character === "\\") {
      at += 1;
      const literal = pattern[at];
      if (literal === undefined) return undefined;
      addOne(isCharacter(literal));
    } else if (character === "{") {
      if (open !== undefined) return undefined;
      open = { fork: reserve(), starts: [states.length], ends: [] };
    } else if (character === "}") {
      if (open === undefined) return undefined;
      const { fork, starts, ends } = open;
      states[fork] = { skips: starts };
      for (const end of ends) states[end] = { skips: [states.length] };
      open = undefined;
    } else if (character === "," && open !== undefined) {
      open.ends.push(reserve());
      open.starts.push(states.length);
    } else addOne(isCharacter(character));
  }
  return open === undefined ? states : undefined;
}

function toSet(inside: readonly string[]): ((codePoint: number) => boolean) | undefined {
  const isNegated = inside[0] === "!";
  const set = toCharacterSet(isNegated ? inside.slice(1) : inside);
  return set && ((codePoint) => set(codePoint) !== isNegated);
}
