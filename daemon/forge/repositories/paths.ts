import { AppError } from "../../errors.ts";

/** Maximum length of a path and of its parts, in UTF-8 bytes: file systems refuse longer ones. */
const PATH_BYTES_MAX = 4_095;
const PART_BYTES_MAX = 255;

/** Characters that the file system of macOS ignores in names. */
const IGNORED = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;

/**
 * Returns a path of a repository without empty parts and `.`; empty for the top folder. Throws `unprocessable` for a
 * path that leaves the repository or enters git's own folder on any system: `..`, and `.git` in all its spellings.
 */
export function cleanPath(requestedPath: string): string {
  const parts = requestedPath.split("/").filter((part) => part !== "" && part !== ".");
  const isBad =
    !requestedPath.isWellFormed() ||
    Buffer.byteLength(requestedPath) > PATH_BYTES_MAX ||
    parts.some(
      (part) => part === ".." || Buffer.byteLength(part) > PART_BYTES_MAX || isGitFolder(part),
    );
  if (isBad || requestedPath.includes("\0"))
    throw new AppError(
      "unprocessable",
      `path contains a malformed path component [path: ${requestedPath}]`,
    );
  return parts.join("/");
}

/** Returns the path of a file; the top folder is refused as `cleanPath` refuses. */
export function cleanFilePath(requestedPath: string): string {
  const path = cleanPath(requestedPath);
  if (path === "")
    throw new AppError(
      "unprocessable",
      `path contains a malformed path component [path: ${requestedPath}]`,
    );
  return path;
}

/**
 * Returns the path of a file that is to be written. Besides what `cleanFilePath` refuses, it refuses what would leave the
 * folder of a clone on another system, as `..` beside a backslash, and control characters, which break the output of
 * programs that list files by line.
 */
export function cleanNewPath(requestedPath: string): string {
  const path = cleanFilePath(requestedPath);
  const leaves = path.split(/[/\\]/).some((piece) => piece.trimEnd() === "..");
  // oxlint-disable-next-line no-control-regex -- refuses control characters
  if (leaves || /[\u0000-\u001f\u007f]/.test(path))
    throw new AppError(
      "unprocessable",
      `path contains a malformed path component [path: ${requestedPath}]`,
    );
  return path;
}

/**
 * Returns whether a part names the `.git` folder on any system: in any letter case, with trailing dots and blanks, with
 * ignored characters, by its short name, as a stream, or after a backslash.
 */
function isGitFolder(part: string): boolean {
  return part.split("\\").some((piece) => {
    const plain = piece
      .replace(IGNORED, "")
      .toLowerCase()
      .replace(/:.*$/s, "")
      .replace(/[. ]+$/, "");
    return plain === ".git" || plain === "git~1";
  });
}
