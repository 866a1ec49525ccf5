import { AppError } from "../../../errors.ts";

const NAME_CHARACTERS_MAX = 214;
const VERSION_CHARACTERS_MAX = 256;
const TAG_CHARACTERS_MAX = 128;

/** A package name as the path gives it, in one segment or with the scope in its own. */
export interface NpmNameInPath {
  readonly scope?: string | undefined;
  readonly name: string;
}

/** The whole name, `name` or `@scope/name`. Refuses with `invalid_argument` what npm could not have named. */
export function toNpmName({ scope, name }: NpmNameInPath): string {
  const whole = scope === undefined ? name : `${scope}/${name}`;
  if (!isNpmName(whole)) throw new AppError("invalid_argument", "invalid package name");
  return whole;
}

/** Whether a package may be called so: in lower case, and fit for a path. */
function isNpmName(name: string): boolean {
  const part = "[a-z0-9~][a-z0-9._~-]*";
  if (name.length > NAME_CHARACTERS_MAX) return false;
  if (name === "node_modules" || name === "favicon.ico") return false;
  return new RegExp(`^(?:@${part}/)?${part}$`).test(name);
}

/** Whether a text is one version as semver 2.0.0 writes it. */
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

/** Refuses with `invalid_argument` a tag that could be taken for a version or a range, or that needs escaping. */
export function assertNpmTag(tag: string): void {
  const isPlain = tag.length <= TAG_CHARACTERS_MAX && /^[A-Za-z_~][A-Za-z0-9._~-]*$/.test(tag);
  const isRange = /^(?:v?\d|[xX](?:$|[.-])|v[xX*])/.test(tag);
  if (!isPlain || isRange || tag === "__proto__")
    throw new AppError("invalid_argument", "invalid tag name");
}

/** What a version's tarball is called. */
export function toTarballName(name: string, version: string): string {
  return `${name.slice(name.indexOf("/") + 1)}-${version}.tgz`;
}
