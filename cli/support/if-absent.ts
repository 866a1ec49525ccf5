import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { CliErrorCode } from "../exit-codes.ts";

/** The flag of commands that create something with a name, so that a script may run them again. */
export interface IfAbsentFlag {
  readonly ifAbsent?: true;
}

export const ifAbsentFlag = {
  "--if-absent": "if it exists, print it unchanged and succeed",
} as const;

/** A requested setting and that of the existing object. */
export interface Setting {
  readonly flag: string;
  /** Undefined when the flag was not given; such a setting is not compared. */
  readonly requested: unknown;
  readonly existing: unknown;
}

export interface Creation<T> {
  /** The flag. */
  readonly ifAbsent: true | undefined;
  /** The object in messages, such as `the label "bug" of ada/notes`. */
  readonly title: string;
  /** Returns the existing object of this name, as the server compares names. A `not_found` means undefined. */
  readonly find: () => Promise<T | undefined>;
  readonly create: () => Promise<T>;
  /** The settings of the existing object that flags can set. */
  readonly settings?: (existing: T) => readonly Setting[];
  /** The command that changes the existing object, such as `croft label edit`. */
  readonly editedBy?: string;
  /**
   * Deletes the object that `create` made, if the server accepts several of one name. `find` returns the oldest, so
   * of two concurrent processes the later one deletes its own.
   */
  readonly withdraw?: (created: T) => Promise<void>;
}

export interface Created<T> {
  readonly value: T;
  /** False for an object that existed before. */
  readonly isNew: boolean;
}

/**
 * Creates an object. With `--if-absent`, returns an existing one unchanged, with a note on standard error. If the
 * server refuses the creation, looks it up again, because another process may have created it meanwhile. @throws
 * CliError the server's refusal when the object still does not exist
 */
export async function createIfAbsent<T extends object>(
  cli: CliContext,
  creation: Creation<T>,
): Promise<Created<T>> {
  const { ifAbsent, create } = creation;
  if (ifAbsent !== true) return { value: await create(), isNew: true };
  const before = await findExisting(creation.find);
  if (before !== undefined) return reportExisting(cli, creation, before);
  let value: T;
  try {
    value = await create();
  } catch (error) {
    if (!(error instanceof CliError) || !mayExist.has(error.code)) throw error;
    const now = await findExisting(creation.find);
    if (now === undefined) throw error;
    return reportExisting(cli, creation, now);
  }
  if (creation.withdraw === undefined) return { value, isNew: true };
  const first = await findExisting(creation.find);
  if (first === undefined || idOf(first) === idOf(value)) return { value, isNew: true };
  await creation.withdraw(value);
  return reportExisting(cli, creation, first);
}

function idOf(value: object): unknown {
  return (value as { readonly id?: unknown }).id;
}

/** The forge refuses a taken name with 409, 422 or 403, depending on the resource. */
const mayExist: ReadonlySet<CliErrorCode> = new Set([
  "conflict",
  "forbidden",
  "invalid",
  "name_collision",
]);

async function findExisting<T>(find: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof CliError && error.code === "not_found") return undefined;
    throw error;
  }
}

function reportExisting<T>(
  cli: CliContext,
  { title, settings, editedBy }: Creation<T>,
  value: T,
): Created<T> {
  const name = `${title.charAt(0).toUpperCase()}${title.slice(1)}`;
  const others = (settings?.(value) ?? []).filter(
    ({ requested, existing }) => requested !== undefined && !isSame(requested, existing),
  );
  if (others.length === 0) cli.io.note(`${name} exists already; nothing was changed.`);
  else {
    const list = others.map(
      ({ flag, requested, existing }) => `${flag} is ${toWord(existing)}, not ${toWord(requested)}`,
    );
    const advice = editedBy === undefined ? "" : ` "${editedBy}" changes it.`;
    cli.io.warn(
      `${name} exists already with other settings: ${list.join("; ")}. Nothing was changed.${advice}`,
    );
  }
  return { value, isNew: false };
}

/** Flags may give numbers and booleans as text. */
function isSame(requested: unknown, existing: unknown): boolean {
  return String(requested) === String(existing ?? "");
}

function toWord(value: unknown): string {
  return JSON.stringify(value ?? "");
}

/**
 * Returns whether two names are equal if the server ignores case: users, organizations, repositories, teams, handles.
 */
export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
