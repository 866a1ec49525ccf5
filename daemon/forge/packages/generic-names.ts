import { AppError } from "../../errors.ts";

/** Longest name, version or file name, in characters: file systems and tools take no longer ones. */
const CHARACTERS_MAX = 255;

/** What a file of a generic package is called. */
export interface GenericFileName {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
}

/** Refuses with `invalid_argument` names that a generic package cannot have. */
export function assertGenericNames({
  name,
  version,
  filename,
}: Pick<GenericFileName, "name" | "version"> & Partial<GenericFileName>): void {
  if (!isPackageName(name)) throw new AppError("invalid_argument", "invalid package name");
  if (!isVersion(version)) throw new AppError("invalid_argument", "invalid package version");
  if (filename !== undefined && !isFilename(filename))
    throw new AppError("invalid_argument", "invalid filename");
}

function isPackageName(name: string): boolean {
  return isShort(name) && /^[-_+.A-Za-z0-9]+$/.test(name) && /[A-Za-z0-9_]/.test(name);
}

/** Any text without white space around it, and without what would end a path or a line. */
function isVersion(version: string): boolean {
  return (
    isShort(version) &&
    version === version.trim() &&
    version.isWellFormed() &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}/\\]/u.test(version) &&
    !isDots(version)
  );
}

function isFilename(filename: string): boolean {
  return (
    isShort(filename) &&
    filename === filename.trim() &&
    /^[-_+=:;.()[\]{}~!@#$%^& A-Za-z0-9]+$/.test(filename) &&
    !isDots(filename)
  );
}

const isShort = (text: string): boolean => text.length > 0 && text.length <= CHARACTERS_MAX;
const isDots = (text: string): boolean => text === "." || text === "..";
