// daemon/forge/rendering/highlight: colours for code blocks, as classes of one or two letters (forge behaviour, 18.4).
// May import: ../html/flat.ts and files of this folder. Pure functions.
// A scanner of our own rather than a library: the classes are the reference's, it is linear on any input, and twenty
// times faster than the libraries, which read code more deeply than a document needs. Languages are in languages.ts.
import { escapeText } from "../html/flat.ts";
import { languages, type Language } from "./languages.ts";

/** Longer code is shown without colours: it is data, and each coloured word costs tags. */
const LENGTH_MAX = 128 * 1024;

/**
 * Code as flat HTML, its words marked with `<span class="…">` when the language (in lower case) is known.
 * The text without the tags is the code, unchanged. Linear in its length.
 */
export function highlight(code: string, name: string): string {
  const language = scanners.get(name);
  if (language === undefined || code.length > LENGTH_MAX) return escapeText(code);
  const { pattern } = language;
  let out = "";
  let end = 0;
  pattern.lastIndex = 0;
  for (let found = pattern.exec(code); found !== null; found = pattern.exec(code)) {
    const [source] = found;
    if (source === "") {
      pattern.lastIndex += 1;
      continue;
    }
    const className = classOf(found, language);
    if (className === undefined) continue;
    out += `${escapeText(code.slice(end, found.index))}<span class="${className}">${escapeText(source)}</span>`;
    end = found.index + source.length;
  }
  return out + escapeText(code.slice(end));
}

interface Scanner extends Pick<Language, "ignoresCase" | "nameClass"> {
  readonly pattern: RegExp;
  /** The class of each capturing group; undefined for the group of words. */
  readonly classes: readonly (string | undefined)[];
  /** Word to its class. */
  readonly classOfWord: ReadonlyMap<string, string>;
}

function toScanner(language: Language): Scanner {
  const groups: [className: string | undefined, pattern: string][] = [];
  for (const [open, close] of language.block ?? [])
    groups.push(["cm", `${escape(open)}(?:(?!${escape(close)})[\\s\\S])*(?:${escape(close)})?`]);
  for (const [className, pattern] of language.extra ?? []) groups.push([className, pattern]);
  for (const start of language.line ?? []) groups.push(["c1", `${escape(start)}[^\\n]*`]);
  for (const quote of language.strings ?? [])
    groups.push([stringClasses[quote], stringPatterns[quote]]);
  groups.push(["mi", "(?<![\\w.])\\d(?:[\\w.]{0,40})"]);
  groups.push([undefined, "[A-Za-z_$][\\w$]*"]);
  const words = Object.entries(language.words).flatMap(([className, list]) =>
    list.split(" ").map((word) => [word, className] as const),
  );
  return {
    ...language,
    pattern: new RegExp(groups.map(([, source]) => `(${source})`).join("|"), "gm"),
    classes: groups.map(([className]) => className),
    classOfWord: new Map(words),
  };
}

function classOf(found: RegExpExecArray, scanner: Scanner): string | undefined {
  for (const [index, className] of scanner.classes.entries()) {
    const source = found[index + 1];
    if (source === undefined) continue;
    const word = scanner.ignoresCase === true ? source.toLowerCase() : source;
    return className ?? scanner.classOfWord.get(word) ?? scanner.nameClass;
  }
  return undefined;
}

/** Each ends where the text ends when nothing closes it: a quote without an end is looked at once. */
const stringPatterns = {
  '"': '"(?:[^"\\\\\\n]|\\\\.)*"?',
  "'": "'(?:[^'\\\\\\n]|\\\\.)*'?",
  "`": "`(?:[^`\\\\]|\\\\[\\s\\S])*`?",
  '"""': '"""(?:(?!""")[\\s\\S])*(?:""")?',
  "'''": "'''(?:(?!''')[\\s\\S])*(?:''')?",
} as const;

const stringClasses = { '"': "s2", "'": "s1", "`": "sb", '"""': "s2", "'''": "s1" } as const;

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\-]/g, "\\$&");
}

const scanners: ReadonlyMap<string, Scanner> = new Map(
  [...languages].map(([name, language]) => [name, toScanner(language)]),
);
