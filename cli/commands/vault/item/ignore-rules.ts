/** One rule of a file of ignore rules, as git reads those of `.gitignore`. */
export interface IgnoreRule {
  /** Takes in what earlier rules leave out. */
  readonly isNegative: boolean;
  /** Matches folders only. */
  readonly isOfFolders: boolean;
  readonly segments: readonly PathPart[];
}

/** The pattern of one name, or any number of folders (`**`). */
type PathPart = "**" | readonly NamePart[];
/** A pattern of one character, or any text (`*`). */
type NamePart = "*" | ((character: string) => boolean);

/**
 * Longest rule in characters. A rule is compared with a path in time that grows with the product of their lengths, however
 * many `*` it has.
 */
export const RULE_CHARACTERS_MAX = 4_096;

/**
 * Parses a line of a file in `folder`, which is empty for the top. Undefined for a comment, an empty line and a pattern that
 * matches nothing, such as `[a`.
 */
export function parseIgnoreRule(line: string, folder: string): IgnoreRule | undefined {
  const text = withoutTrailingSpaces(line);
  if (text === "" || text.startsWith("#")) return undefined;
  const isNegative = text.startsWith("!");
  const written = isNegative ? text.slice(1) : text;
  const isOfFolders = written.endsWith("/");
  const pattern = isOfFolders ? written.slice(0, -1) : written;
  const parts = toPathParts([...pattern]);
  if (parts === undefined) return undefined;
  const isAnchored = pattern.includes("/");
  if (parts.length > 1 && parts[0]?.length === 0) parts.shift();
  const segments = parts.map(toSegment);
  if (segments.length === 0 || segments.some(({ length }) => length === 0)) return undefined;
  // A `**` at the end is what is in a folder, not the folder.
  if (segments.at(-1) === "**") segments.push(["*"]);
  const above = folder === "" ? [] : folder.split("/").map((name) => [...name].map(isCharacter));
  return {
    isNegative,
    isOfFolders,
    segments: [...above, ...(isAnchored ? [] : ["**" as const]), ...segments],
  };
}

/** Counts the steps of comparisons, each of a character or a name. */
export interface MatchWork {
  steps: number;
}

/** Whether a rule matches a path, given as its names. Adds its steps to `work`. */
export function matchesRule(
  rule: IgnoreRule,
  names: readonly Name[],
  { isFolder, work }: { readonly isFolder: boolean; readonly work: MatchWork },
): boolean {
  if (rule.isOfFolders && !isFolder) return false;
  return matchesAll(
    rule.segments,
    names,
    (pattern, name) => matchesAll(pattern, name, acceptsCharacter, work),
    work,
  );
}

/** The characters of one name of a path. */
export type Name = readonly string[];

const acceptsCharacter = (accepts: Exclude<NamePart, "*">, character: string) => accepts(character);

/**
 * Whether a sequence of patterns matches a sequence of items. Only the last wildcard, a text, is ever extended: what those before
 * it took is as good as anything else, so the time is at most the product of both lengths.
 */
function matchesAll<Pattern extends object, Item>(
  patterns: readonly (Pattern | string)[],
  items: readonly Item[],
  accepts: (pattern: Pattern, item: Item) => boolean,
  work: MatchWork,
): boolean {
  let [at, item] = [0, 0];
  let last: { readonly at: number; item: number } | undefined;
  while (item < items.length) {
    work.steps += 1;
    const pattern = patterns[at];
    if (typeof pattern === "string") {
      last = { at, item };
      at += 1;
    } else if (pattern !== undefined && accepts(pattern, items[item] as Item)) {
      at += 1;
      item += 1;
    } else if (last !== undefined) {
      last.item += 1;
      item = last.item;
      at = last.at + 1;
    } else return false;
  }
  return patterns.slice(at).every((pattern) => typeof pattern === "string");
}

const toSegment = (parts: NamePart[]): PathPart =>
  parts.length > 1 && parts.every((part) => part === "*") ? "**" : parts;

const isCharacter = (expected: string) => (character: string) => character === expected;

/** The patterns of the names between slashes; undefined for a pattern that matches nothing. */
function toPathParts(pattern: readonly string[]): NamePart[][] | undefined {
  const parts: NamePart[][] = [[]];
  for (let at = 0; at < pattern.length; at += 1) {
    let character = pattern[at] ?? "";
    const part = parts.at(-1);
    if (character === "*") part?.push("*");
    else if (character === "?") part?.push(() => true);
    else if (character === "[") {
      const set = readSet(pattern, at + 1);
      if (set === undefined) return undefined;
      part?.push(set.accepts);
      at = set.end;
    } else {
      if (character === "\\") {
        at += 1;
        if (pattern[at] === undefined) return undefined;
        character = pattern[at] ?? "";
      }
      if (character === "/") parts.push([]);
      else part?.push(isCharacter(character));
    }
  }
  return parts;
}

/** Sets with names, of ASCII only, as git has them. */
const CLASSES: Readonly<Record<string, RegExp>> = {
  alnum: /[0-9A-Za-z]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  cntrl: /\p{Cc}/u,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t\n\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9A-Fa-f]/,
};

/** Reads a set such as `[a-z]`, `[!0-9]` or `[[:digit:]_]` behind its bracket. Undefined for one that is never closed. */
function readSet(pattern: readonly string[], from: number) {
  let at = from;
  const isNegated = pattern[at] === "!" || pattern[at] === "^";
  if (isNegated) at += 1;
  const members: ((character: string) => boolean)[] = [];
  for (let isFirst = true; pattern[at] !== "]" || isFirst; isFirst = false) {
    const name = /^\[:([a-z]*):\]/.exec(pattern.slice(at, at + CLASS_CHARACTERS_MAX).join(""))?.[1];
    if (name !== undefined) {
      const named = CLASSES[name];
      if (named === undefined) return undefined;
      members.push((character) => named.test(character));
      at += name.length + "[::]".length;
      continue;
    }
    const low = readMember(pattern, at);
    const high =
      pattern[low.end] === "-" && pattern[low.end + 1] !== "]"
        ? readMember(pattern, low.end + 1)
        : low;
    if (low.character === undefined || high.character === undefined) return undefined;
    members.push(isBetween(low.character, high.character));
    at = high.end;
  }
  const accepts = (character: string) =>
    members.some((isMember) => isMember(character)) !== isNegated;
  return { accepts, end: at };
}

/** Longest name of a class with its brackets. */
const CLASS_CHARACTERS_MAX = 16;

function readMember(pattern: readonly string[], at: number) {
  const start = pattern[at] === "\\" ? at + 1 : at;
  return { character: pattern[start], end: start + 1 };
}

const isBetween = (low: string, high: string) => {
  const [from = 0, to = 0] = [low.codePointAt(0), high.codePointAt(0)];
  return (character: string) => {
    const codePoint = character.codePointAt(0) ?? 0;
    // The first one is a member, as for git, even if the range ends before it.
    return codePoint === from || (codePoint > from && codePoint <= to);
  };
};

/** Spaces at the end do not count unless they are escaped. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end -= 1;
  return line.slice(0, end);
}
