import type { ZodType } from "zod";
import { type SqlValue, StorageError } from "../engine/database.ts";
import { parseColumn } from "../engine/json-column.ts";

/**
 * How a new row gets its value: `given` by the caller, who `may` leave it out, or `generated`. What the statement computes
 * is `never` stored.
 */
type Given = "given" | "may" | "generated" | "never";

/** A column of a table: how a member of the record is stored. */
export interface Column<T = unknown, G extends Given = Given, IsRead extends boolean = boolean> {
  /** The type of the member; there is no such value. */
  readonly type?: T;
  readonly given: G;
  /** Whether records have it. */
  readonly isRead: IsRead;
  readonly isNullable: boolean;
  /** The type in the schema, as SQLite names it. */
  readonly stored: "TEXT" | "INTEGER" | "REAL" | "BLOB";
  /** The name in the schema, where it is not the member's in snake case. */
  readonly name?: string;
  /** What the statement computes or joins in its place. */
  readonly expression?: string;
  readonly isJoined?: boolean;
  /** The value of a new row: a constant, or the time of its transaction. */
  readonly initial?: { readonly value: unknown } | "now";
  /** `same` is read as it is stored, `flag` is 1 or 0. `place` is `table.column`, for errors. */
  readonly read: "same" | "flag" | ((value: SqlValue, place: string) => unknown);
  readonly write: (value: unknown) => SqlValue;
}

const asStored = (value: unknown): SqlValue => value as SqlValue;

/** Throws `failed` for a fraction, which an engine may round and another refuse. */
function asInteger(value: unknown): SqlValue {
  if (typeof value === "number" && !Number.isInteger(value))
    throw new StorageError("failed", "a fraction cannot be stored as an integer");
  return value as SqlValue;
}

function plain<T>(stored: Column["stored"]): Column<T, "given", true> {
  return {
    given: "given",
    isRead: true,
    isNullable: false,
    stored,
    read: "same",
    write: stored === "INTEGER" ? asInteger : asStored,
  };
}

/** A text, or one of the given words: `text<"view" | "download">()`. */
export const text = <T extends string = string>(): Column<T, "given", true> => plain("TEXT");
export const integer = <T extends number = number>(): Column<T, "given", true> => plain("INTEGER");
/** A number with a fraction. */
export const real = (): Column<number, "given", true> => plain("REAL");
export const bytes = (): Column<Uint8Array, "given", true> => plain("BLOB");
/** The id of a row, of this or of another table: `id<LabelId>()`. Vault ids are texts: `textId<AccountId>()`. */
export const id = <T extends number>(): Column<T, "given", true> => plain("INTEGER");
export const textId = <T extends string>(): Column<T, "given", true> => plain("TEXT");

/** A boolean, stored as 1 or 0. */
export const flag = (): Column<boolean, "given", true> => ({
  ...plain<boolean>("INTEGER"),
  read: "flag",
  write: Number,
});

/** One of the words, stored as itself. Another word is `corrupt`. */
export function oneOf<const W extends string>(words: readonly W[]): Column<W, "given", true> {
  return {
    ...plain<W>("TEXT"),
    read: (value, place) => words.find((word) => word === value) ?? throwUnknown(value, place),
  };
}

/** One of the words, stored as its place among them. An unknown number is read as `fallback`; without one it is `corrupt`. */
export function coded<const W extends string>(
  words: readonly W[],
  fallback?: NoInfer<W>,
): Column<W, "given", true> {
  return {
    ...plain<W>("INTEGER"),
    read: (value, place) => words[value as number] ?? fallback ?? throwUnknown(value, place),
    write: (word) => words.indexOf(word as W),
  };
}

/** One of the words, stored as its number. An unknown number is `corrupt`. */
export function numbered<W extends string>(
  numbers: Readonly<Record<W, number>>,
): Column<W, "given", true> {
  const words = new Map(Object.entries(numbers).map(([word, number]) => [number, word as W]));
  return {
    ...plain<W>("INTEGER"),
    read: (value, place) => words.get(value as number) ?? throwUnknown(value, place),
    write: (word) => numbers[word as W],
  };
}

function throwUnknown(value: SqlValue, place: string): never {
  throw new StorageError("corrupt", `${place} holds the unknown value ${String(value)}`);
}

type ReadonlyOf<T> = T extends readonly (infer E)[]
  ? readonly E[]
  : T extends object
    ? Readonly<T>
    : T;

/** JSON, stored as text. Its schema also accepts values of earlier versions. */
export function json<T>(schema: ZodType<T>): Column<ReadonlyOf<T>, "given", true> {
  return {
    ...plain<ReadonlyOf<T>>("TEXT"),
    read: (value, place) => parseColumn(schema, value as string, place),
    write: (value) => JSON.stringify(value),
  };
}

/** A column whose NULL is read as undefined. A new row may leave it out. */
export function optional<T, R extends boolean>(
  column: Column<T, Given, R>,
): Column<T | undefined, "may", R> {
  const { write } = column;
  return {
    ...column,
    given: "may",
    isNullable: true,
    write: (value) => (value === undefined ? null : write(value)),
  };
}

/** A column with another name in the schema than the member's in snake case. */
export function named<T, G extends Given, R extends boolean>(
  name: string,
  column: Column<T, G, R>,
): Column<T, G, R> {
  return { ...column, name };
}

/** A column that has a value in new rows unless the caller gives another. */
export function initial<T, R extends boolean>(
  value: NoInfer<T>,
  column: Column<T, Given, R>,
): Column<T, "may", R> {
  return { ...column, given: "may", initial: { value } };
}

/** A column that the database fills in every new row: an id, a default of the schema. */
export function generated<T, R extends boolean>(
  column: Column<T, Given, R>,
): Column<T, "generated", R> {
  return { ...column, given: "generated" };
}

/** A time in epoch milliseconds, the transaction's in every new row. Updates do not change it by themselves. */
export const now = (): Column<number, "generated", true> => ({
  ...plain<number>("INTEGER"),
  given: "generated",
  initial: "now",
});

/** The same, unless the caller gives another time: of a row that comes from another server. */
export const nowUnlessGiven = (): Column<number, "may", true> => ({ ...now(), given: "may" });

/** A column that records do not have: it is written and searched. */
export function unread<T, G extends Given>(column: Column<T, G>): Column<T, G, false> {
  return { ...column, isRead: false };
}

/** A value of a joined table, such as `owner.handle`. It is only read. */
export function joined<T>(expression: string, column: Column<T>): Column<T, "never", true> {
  return { ...column, given: "never", isRead: true, expression, isJoined: true };
}

/** A value that is computed from columns of the row, in SQL. It is only read. */
export function derived<T>(expression: string, column: Column<T>): Column<T, "never", true> {
  return { ...column, given: "never", isRead: true, expression };
}
