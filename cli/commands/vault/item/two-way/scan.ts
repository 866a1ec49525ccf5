import type { BigIntStats } from "node:fs";
import { CliError } from "../../../../errors.ts";
import type { LocalMark } from "./pair-state.ts";

/** A file or folder below the local folder. */
export interface LocalEntry {
  /** Relative, with slashes and the spelling of the disk. */
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly mark: LocalMark;
  readonly isMount?: boolean;
}

/** A path that is not synchronized, with everything below it. */
export interface Blocked {
  readonly reason: string;
  /** Mentioned only when the other side has it, too. */
  readonly isQuiet: boolean;
}

/** What a side has. Keys are paths in NFC, parents before their content. */
export interface Scan<Entry> {
  readonly entries: Map<string, Entry>;
  readonly blocked: Map<string, Blocked>;
  /** Folders with something that the filter leaves out. */
  readonly holdsIgnored: ReadonlySet<string>;
  readonly isCaseSensitive: boolean;
}

export interface LocalScan extends Scan<LocalEntry> {
  readonly rootIno: string;
}

/** Returns the error for a file or folder that is not the version on which the plan is based. */
export function changedMeanwhile(path: string, cause?: unknown): CliError {
  return new CliError("stale", `${path} was changed meanwhile`, {
    hint: "run the same command again; it takes the change",
    cause,
  });
}

export function toLocalMark(stats: BigIntStats): LocalMark {
  const { size, mtimeNs, ctimeNs, ino } = stats;
  return { size: Number(size), mtime: `${mtimeNs}`, ctime: `${ctimeNs}`, ino: `${ino}` };
}

export function isSameMark(one: LocalMark, other: LocalMark): boolean {
  return (
    one.size === other.size &&
    one.mtime === other.mtime &&
    one.ctime === other.ctime &&
    one.ino === other.ino
  );
}

/** Adds the folders above a path. */
export function addAncestors(key: string, to: Set<string>): void {
  for (let at = key.lastIndexOf("/"); at > 0; at = key.lastIndexOf("/", at - 1))
    to.add(key.slice(0, at));
}

/** A reason that is always mentioned. */
export function loud(reason: string): Blocked {
  return { reason, isQuiet: false };
}

/** Longest name that a connection takes, in bytes of UTF-8. */
const NAME_BYTES_MAX = 255;

/** Why no connection can have a name. */
export function toNameRefusal(name: string): string | undefined {
  if (/\p{Cc}/u.test(name))
    return "its name has control characters, which a connection cannot have";
  return Buffer.byteLength(name.normalize("NFC")) > NAME_BYTES_MAX
    ? `its name is longer than ${NAME_BYTES_MAX} bytes`
    : undefined;
}
