import type { Env } from "markdown-it";
import type { Highlighting } from "./highlight.ts";

/** Footnotes of one rendering. */
export interface FootnoteLabels {
  /** Numbers by label; -1 for a label without a reference so far. */
  readonly numbers: Map<string, number>;
  /** Referenced labels in the order of their first reference. */
  readonly order: string[];
  /** Number of references by label. */
  readonly uses: Map<string, number>;
}

/** State of one rendering, for the rules. */
export interface DialectEnv {
  /** Returns the class attribute of an element that the renderer writes. */
  readonly className: (names: string) => string;
  /** Whether paragraphs and lists get `dir="auto"`. */
  readonly decorates: boolean;
  /** Suffix of footnote ids, because a page shows several comments. */
  readonly footnoteSuffix: string;
  /** The text without its front matter, with normalised line breaks. */
  readonly source: string;
  /** Length in bytes of the front matter before `source`. */
  readonly bytesBefore: number;
  readonly highlighting: Highlighting;
  readonly footnotes: FootnoteLabels;
}

const dialectKey = Symbol("croft.dialect");

/** Returns the environment of one call of the engine. */
export function toEnv(dialect: Omit<DialectEnv, "footnotes">): Env {
  const footnotes: FootnoteLabels = { numbers: new Map(), order: [], uses: new Map() };
  return { [dialectKey]: { ...dialect, footnotes } };
}

/** Returns the state of the rendering that a rule belongs to. */
export function dialectOf(env: Env | undefined): DialectEnv {
  const dialect = env?.[dialectKey];
  if (dialect === undefined) throw new Error("the engine was called without its environment");
  return dialect as DialectEnv;
}
