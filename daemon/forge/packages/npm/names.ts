import { AppError } from "../../../errors.ts";

const NAME_CHARACTERS_MAX = 214;
const VERSION_CHARACTERS_MAX = 256;
const TAG_CHARACTERS_MAX = 128;

/** The package name of a path, in one segment or with the scope in a separate segment. */
export interface NpmNameInPath {
  readonly scope?: string | undefined;
  readonly name: string;
}

/** Returns the full name, `name` or `@scope/name`. Refuses an invalid name with `invalid_argument`. */
export function toNpmName({ scope, name }: NpmNameInPath): string {
  const whole = scope === undefined ? name : `${scope}/${name}`;
  if (!isNpmName(whole)) throw new AppError("invalid_argument", "invalid package name");
  return whole;
}

/** Returns whether a package name is valid: lower case and safe in a path. */
function isNpmName(name: string): boolean {
  const part = "[a-z0-9~][a-z0-9._~-]*";
  if (name.length > NAME_CHARACTERS_MAX) return false;
  if (name === "node_modules" || name === "favicon.ico") return false;
  return new RegExp(`^(?:@${part}/)?${part}$`).test(name);
}

/** Returns whether a text is a version of semver 2.0.0. */
export function isNpmVersion(version: string): boolean {
  const number = "(?:0|[1-9]\\d{0,15})";
  const word = "(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)";
  return (
    version.length <= VERSION_CHARACTERS_MAX &&
    new RegExp(
      `^${number}\\.${number}\\.${number}(?:-${word}(?:\\.${word})*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
    ).test(version)
  );
}

/** Refuses with `invalid_argument` a tag that parses as a version or a range, or that needs escaping. */
export function assertNpmTag(tag: string): void {
  const isPlain = tag.length <= TAG_CHARACTERS_MAX && /^[A-Za-z_~][A-Za-z0-9._~-]*$/.test(tag);
  const isRange = /^(?:v?\d|[xX](?:$|[.-])|v[xX*])/.test(tag);
  if (!isPlain || isRange || tag === "__proto__")
    throw new AppError("invalid_argument", "invalid tag name");
}

/** Returns the file name of a version's tarball. */
export function toTarballName(name: string, version: string): string {
  return `${name.slice(name.indexOf("/") + 1)}-${version}.tgz`;
}

/** Compares two valid versions by their precedence (semver 2.0.0, section 11): negative when `a` is lower. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [toParts(a), toParts(b)];
  for (const [index, number] of left.numbers.entries()) {
    const difference = number - (right.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (left.words.length === 0 || right.words.length === 0)
    return Math.sign(right.words.length - left.words.length);
  for (const [index, word] of left.words.entries()) {
    const other = right.words[index];
    if (other === undefined) return 1;
    const difference = compareWords(word, other);
    if (difference !== 0) return difference;
  }
  return left.words.length - right.words.length;
}

function toParts(version: string) {
  const [, numbers = "", words] = /^([\d.]+)(?:-([^+]*))?/.exec(version) ?? [];
  return { numbers: numbers.split(".").map(Number), words: words?.split(".") ?? [] };
}

/** Numbers are lower than other words. Their digits may exceed the range of numbers. */
function compareWords(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}
