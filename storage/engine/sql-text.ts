import { StorageError } from "./database.ts";

/** A token of SQL. `quoted` is a string, a quoted name or a dollar-quoted body; its content is not parsed. */
export interface Token {
  readonly kind: "space" | "comment" | "quoted" | "word" | "mark";
  readonly text: string;
}

const TOKENS = new RegExp(
  [
    "(?<space>\\s+)",
    "(?<comment>--[^\\n]*|/\\*[^]*?\\*/)",
    `(?<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<dollar>\\$(?:[A-Za-z_]\\w*)?\\$)[^]*?\\k<dollar>)`,
    "(?<word>[\\p{L}\\p{N}_]+)",
    "(?<mark>[^])",
  ].join("|"),
  "guy",
);

/** Splits SQL into tokens; joined they are the text again. An unclosed quote becomes single marks. */
export function toTokens(sql: string): Token[] {
  const tokens: Token[] = [];
  for (const match of sql.matchAll(TOKENS)) {
    const groups = match.groups ?? {};
    const kind = KINDS.find((name) => groups[name] !== undefined) ?? "mark";
    tokens.push({ kind, text: match[0] });
  }
  return tokens;
}

const KINDS = ["space", "comment", "quoted", "word", "mark"] as const;

/** Replaces `?` by the placeholders of PostgreSQL, `$1`, `$2`, …, outside quotes and comments. */
export function toNumbered(sql: string): string {
  let count = 0;
  return toTokens(sql)
    .map((token) => (token.kind === "mark" && token.text === "?" ? `$${++count}` : token.text))
    .join("");
}

/**
 * Splits a script at its semicolons and drops empty statements. The body of a trigger, from BEGIN to END, stays whole:
 * in SQLite it consists of statements.
 */
export function toStatements(script: string): string[] {
  const statements: string[] = [];
  let piece = "";
  let words: string[] = [];
  let depth = 0;
  const finish = (): void => {
    if (words.length > 0) statements.push(piece.trim());
    piece = "";
    words = [];
    depth = 0;
  };
  for (const token of toTokens(script)) {
    const word = token.kind === "word" ? token.text.toUpperCase() : "";
    if (word !== "") words.push(word);
    if (isTrigger(words))
      depth += word === "BEGIN" || word === "CASE" ? 1 : word === "END" ? -1 : 0;
    if (token.text === ";" && depth === 0) finish();
    else piece += token.text;
  }
  finish();
  return statements;
}

function isTrigger(words: readonly string[]): boolean {
  return words[0] === "CREATE" && words.slice(1, 3).includes("TRIGGER");
}

/**
 * Throws `failed` for an empty statement and for one that changes the connection instead of the data: transactions belong
 * to the port, and settings of a connection to the engine.
 */
export function assertOrdinary(sql: string): void {
  if (OF_THE_CONNECTION.test(sql))
    throw new StorageError("failed", `not through the port: ${sql || "an empty statement"}`);
}

const OF_THE_CONNECTION =
  /^\s*(?:$|(?:BEGIN|START|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE|ATTACH|DETACH|VACUUM|PRAGMA)\b)/i;
