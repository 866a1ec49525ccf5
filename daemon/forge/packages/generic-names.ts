import { AppError } from "../../errors.ts";

/** Maximum length of names, versions and file names in characters, as in file systems and tools. */
const CHARACTERS_MAX = 255;

/** The names that identify a file of a generic package. */
export interface GenericFileName {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
}

/** Refuses invalid names of a generic package with `invalid_argument`. */
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

/** Accepts any text without surrounding white space, slashes and control characters. */
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
