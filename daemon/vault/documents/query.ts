import {
  foldText,
  MARK_END,
  MARK_START,
  readTypedWords,
  type SearchTerm,
} from "../../../storage/tables/vault/search-terms.ts";

/**
 * Maximum number of terms; further ones are dropped. People do not type as many, and each costs a lookup in the
 * index.
 */
const TERMS_MAX = 32;

/**
 * Reads a query as people type it: words, `begin*`, `"a phrase"`. Any text is a query: characters other than letters
 * and digits separate words, an unclosed quote ends with the text.
 */
export function parseQuery(query: string): SearchTerm[] {
  const terms: SearchTerm[] = [];
  for (const [, phrase, word] of query.matchAll(/"([^"]*)"?|([^\s"]+)/g)) {
    const text = phrase ?? word ?? "";
    const words = foldText(text)
      .split(" ")
      .filter((word) => word !== "");
    const isPrefix = word?.endsWith("*") === true;
    if (words.length > 0) terms.push({ words, typed: readTypedWords(text, words), isPrefix });
  }
  return terms.slice(0, TERMS_MAX);
}

/** A passage as plain text with the matches as UTF-16 offsets. */
export interface Snippet {
  readonly text: string;
  readonly marks: [number, number][];
}

/** Splits a passage of the index into plain and highlighted text. Line breaks become spaces. */
export function toSnippet(passage: string): Snippet {
  let text = "";
  let start: number | undefined;
  const marks: [number, number][] = [];
  for (const part of passage.split(new RegExp(`([${MARK_START}${MARK_END}])`))) {
    if (part === MARK_START) start = text.length;
    else if (part === MARK_END && start !== undefined) {
      marks.push([start, text.length]);
      start = undefined;
    } else text += part.replace(/\s+/g, " ");
  }
  return { text, marks };
}
