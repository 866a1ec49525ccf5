import { AppError } from "../../../errors.ts";

/** The type of Python packages. */
export const PYPI = "pypi";

/** Maximum length of names, versions and file names in characters, as for generic packages. */
const CHARACTERS_MAX = 255;

/**
 * Returns the name of a project with every run of `-`, `_` and `.` as one `-`; in lower case it is the normalized name of PEP 503.
 * Refuses an invalid name with `invalid_argument`.
 */
export function toProjectName(name: string): string {
  if (!isShort(name) || !/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name))
    throw new AppError("invalid_argument", "invalid name or version: the name");
  return joinWords(name);
}

/** Returns a name with every run of `-`, `_` and `.` as one `-`. */
export const joinWords = (name: string): string => name.replace(/[-_.]+/g, "-");

/** Refuses a version that is not one of PEP 440 with `invalid_argument`. */
export function assertPypiVersion(version: string): void {
  if (toComparable(version) === undefined)
    throw new AppError("invalid_argument", "invalid name or version: the version");
}

/** A wheel or source archive that is named for its project and version. */
interface NamedFile {
  readonly project: string;
  readonly version: string;
  readonly filename: string;
}

/**
 * Refuses with `invalid_argument` a file whose name is not that of a wheel or source archive of the project and version:
 * installers read both from the name.
 */
export function assertPypiFilename({ project, version, filename }: NamedFile): void {
  if (!isShort(filename) || !/^[A-Za-z0-9][A-Za-z0-9._+!-]*$/.test(filename)) throw wrongFile();
  const stem = toStem(filename);
  if (stem === undefined) throw wrongFile();
  const wanted = toComparable(version);
  const isOfBoth = [...stem.matchAll(/-/g)].some(
    ({ index }) =>
      isProject(stem.slice(0, index), project) && toComparable(stem.slice(index + 1)) === wanted,
  );
  if (!isOfBoth) throw wrongFile();
}

/** Returns the part of a file name with the name and the version; undefined for a type that is not accepted. */
function toStem(filename: string): string | undefined {
  const wheel = /^(?<stem>[^-]+-[^-]+)(?:-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl$/.exec(filename)
    ?.groups?.["stem"];
  return wheel ?? /^(?<stem>.+)\.(?:tar\.gz|tgz|tar\.bz2|zip)$/.exec(filename)?.groups?.["stem"];
}

const isProject = (text: string, project: string): boolean =>
  text.replace(/[-_.]+/g, "-").toLowerCase() === project.toLowerCase();

const wrongFile = (): AppError =>
  new AppError(
    "invalid_argument",
    "the file must be a wheel or a source archive with the name and the version of the project in its name",
  );

const isShort = (text: string): boolean => text.length > 0 && text.length <= CHARACTERS_MAX;

/** A version of PEP 440, appendix B. */
const VERSION = new RegExp(
  [
    String.raw`^v?(?:(?<epoch>\d+)!)?(?<release>\d+(?:\.\d+)*)`,
    String.raw`(?:[-_.]?(?<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?<preNumber>\d+)?)?`,
    String.raw`(?:-(?<bare>\d+)|[-_.]?(?<post>post|rev|r)[-_.]?(?<postNumber>\d+)?)?`,
    String.raw`(?:[-_.]?(?<dev>dev)[-_.]?(?<devNumber>\d+)?)?`,
    String.raw`(?:\+(?<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`,
  ].join(""),
  "i",
);

const preNames: Readonly<Record<string, string>> = {
  alpha: "a",
  beta: "b",
  c: "rc",
  pre: "rc",
  preview: "rc",
};

/** Returns the same text for all spellings of a version, such as `1.0.0-rc1` and `1.0RC1`; undefined for an invalid one. */
function toComparable(version: string): string | undefined {
  const parts = isShort(version) ? VERSION.exec(version)?.groups : undefined;
  if (parts === undefined) return undefined;
  const { epoch, release = "", pre, preNumber, bare, post, postNumber, dev, devNumber } = parts;
  const numbers = release.split(".").map(toNumber);
  while (numbers.length > 1 && numbers.at(-1) === "0") numbers.pop();
  const letters = pre?.toLowerCase() ?? "";
  return [
    toNumber(epoch),
    numbers.join("."),
    pre === undefined ? "" : `${preNames[letters] ?? letters}${toNumber(preNumber)}`,
    post === undefined && bare === undefined ? "" : `post${toNumber(bare ?? postNumber)}`,
    dev === undefined ? "" : `dev${toNumber(devNumber)}`,
    parts["local"]?.toLowerCase().replace(/[-_]/g, ".") ?? "",
  ].join(" ");
}

/** Returns a number without leading zeros, as text: it may be longer than numbers are exact. */
const toNumber = (digits = "0"): string => digits.replace(/^0+(?=\d)/, "");
