import { StorageError } from "./database.ts";

/** A piece of SQL. `quoted` is text, a quoted name or a dollar-quoted body; its content is never looked into. */
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

/** Cuts SQL into tokens; joined they are the text again. An unclosed quote gives single marks. */
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

/** Replaces `?` by `$1`, `$2`, … outside quotes and comments, as PostgreSQL wants them. */
export function toNumbered(sql: string): string {
  let count = 0;
  return toTokens(sql)
    .map((token) => (token.kind === "mark" && token.text === "?" ? `$${++count}` : token.text))
    .join("");
}

/**
 * Cuts a script at its semicolons, without the empty pieces. A trigger's body, from BEGIN to END, stays whole:
 * SQLite has it as statements.
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
 * Throws `failed` for a statement that would act on the connection instead of the data (transactions belong to the
 * port, and a connection's settings to the engine) and for none at all.
 */
export function assertOrdinary(sql: string): void {
  if (OF_THE_CONNECTION.test(sql))
    throw new StorageError("failed", `not through the port: ${sql || "an empty statement"}`);
}

const OF_THE_CONNECTION =
  /^\s*(?:$|(?:BEGIN|START|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE|ATTACH|DETACH|VACUUM|PRAGMA)\b)/i;
