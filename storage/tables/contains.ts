import type { Database } from "../engine/database.ts";
import type { Condition } from "./condition.ts";

/** Maximum number of letters outside ASCII of one term whose case is ignored: each costs a pass over the text. */
const LETTERS_MAX = 64;

/**
 * Returns the condition that a text contains a term, ignoring case. `LOWER` of SQLite, and of PostgreSQL in some locales,
 * changes ASCII letters only, so the other letters of the term are replaced one by one. Not `LIKE`, which takes quadratic
 * time for a text of one repeated letter.
 * @param text an SQL expression
 */
export function toContains(dialect: Database["dialect"], text: string, term: string): Condition {
  const folded = Array.from(term, toFoldedLetter).join("");
  const letters = [...new Set(folded)].filter((letter) => letter > "\x7f").slice(0, LETTERS_MAX);
  const values: string[] = [];
  let sql = `LOWER(${text})`;
  for (const letter of letters)
    for (const other of toOtherCases(letter)) {
      sql = `REPLACE(${sql}, ?, ?)`;
      values.push(other, letter);
    }
  const position = dialect === "sqlite" ? "INSTR" : "STRPOS";
  return { sql: `${position}(${sql}, ?) > 0`, values: [...values, folded] };
}

/**
 * Returns a text in which letters that `toContains` takes for the same are one letter, for an index that narrows a search:
 * a text that contains a term contains it in this form, too. Control characters become spaces.
 */
export function foldForIndex(text: string): string {
  const plain = text.toWellFormed().replace(/\p{Cc}/gu, " ");
  return /^[\x20-\x7e]*$/.test(plain)
    ? plain.toLowerCase()
    : Array.from(plain, toIndexedLetter).join("");
}

/** Locales of PostgreSQL change the case of more letters than `toFoldedLetter`: of `İ` to `i`, and of `ẞ` to `ß`. */
function toIndexedLetter(letter: string): string {
  const [small = letter] = toFoldedLetter(letter).toLowerCase();
  return small;
}

const FINAL_SIGMA = "ς";

/** Returns the small form of a letter; a letter whose capital is several letters, such as `ß`, stays. */
function toFoldedLetter(letter: string): string {
  const capital = letter.toUpperCase();
  const small = Array.from(capital).length === 1 ? capital.toLowerCase() : letter;
  return Array.from(small).length === 1 ? small : letter;
}

function toOtherCases(letter: string): string[] {
  const others = letter === "σ" ? ["Σ", FINAL_SIGMA] : [letter.toUpperCase()];
  return others.filter((other) => other !== letter && Array.from(other).length === 1);
}
