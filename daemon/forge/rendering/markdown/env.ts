// daemon/forge/rendering/markdown: the Markdown dialect of forge behaviour, 18.4, on markdown-it.
// May import: markdown-it, yaml, ../html, ../highlight, ../limits.ts and files of this folder. Pure functions.
// Start in engine.ts (which rules there are); every other file is one rule or a few that belong together.
import type { Env } from "markdown-it";

/** What the rules need to know of one rendering. */
export interface DialectEnv {
  /** The class attribute of an element that the engine makes. */
  readonly className: (names: string) => string;
  /** Whether paragraphs and lists carry `dir="auto"`. */
  readonly decorates: boolean;
  /** Appended to the ids of footnotes: comments stand several to a page. */
  readonly footnoteSuffix: string;
  /** The text without its front matter, line breaks normalised. */
  readonly source: string;
  /** Length in bytes of what stood before `source` in the whole text. */
  readonly bytesBefore: number;
  /** Footnotes found so far: label to its number, or -1 while nothing refers to it. */
  readonly footnotes: Map<string, number>;
  /** The labels of the footnotes that are referred to, in the order of their first reference. */
  readonly footnoteOrder: string[];
  /** Whether the text has HTML of its author in it, as far as has been rendered. */
  hasRawHtml: boolean;
}

/** What a rendering begins with. */
export function createDialect(
  given: Omit<DialectEnv, "footnotes" | "footnoteOrder" | "hasRawHtml">,
): DialectEnv {
  return { ...given, footnotes: new Map(), footnoteOrder: [], hasRawHtml: false };
}

const key = Symbol("croft.dialect");

/** An environment for one call of the engine. */
export function toEnv(dialect: DialectEnv): Env {
  return { [key]: dialect };
}

/** The rendering that a rule is part of. */
export function dialectOf(env: Env | undefined): DialectEnv {
  const dialect = env?.[key];
  if (dialect === undefined) throw new Error("the engine was called without its environment");
  return dialect as DialectEnv;
}
