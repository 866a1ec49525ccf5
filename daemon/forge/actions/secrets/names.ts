import { AppError } from "../../../errors.ts";

/** Longest value, in bytes. */
const VALUE_BYTES_MAX = 65_536;
/**
 * Most values of one level, and their bytes together: each job gets those of three levels, and each change of a run reads its
 * variables.
 */
const VALUES_MAX = 500;
const VALUES_BYTES_MAX = 1024 * 1024;
const NAME_CHARACTERS_MAX = 255;

/** Returns the name of a secret or variable in upper case. Throws `invalid_argument` for one that no workflow can use. */
export function toSettingName(name: string): string {
  const isValid =
    /^[A-Z_][A-Z0-9_]*$/i.test(name) &&
    name.length <= NAME_CHARACTERS_MAX &&
    !/^(?:GITEA|GITHUB)_/i.test(name) &&
    name.toUpperCase() !== "CI";
  if (!isValid) throw new AppError("invalid_argument", "invalid variable or secret name");
  return name.toUpperCase();
}

/** Returns a value with line feeds only. Throws `invalid_argument` for one that is too long. */
export function toSettingValue(value: string): string {
  const text = value.replaceAll("\r\n", "\n");
  if (Buffer.byteLength(text) > VALUE_BYTES_MAX)
    throw new AppError("invalid_argument", `data has at most ${VALUE_BYTES_MAX} bytes`);
  return text;
}

/** Refuses with `unprocessable` a value beside the others of a level that has no room for it. */
export function assertRoom(
  others: { readonly count: number; readonly bytes: number },
  value: string,
): void {
  if (others.count >= VALUES_MAX)
    throw new AppError("unprocessable", `there are ${VALUES_MAX} already, which is the limit`);
  if (others.bytes + Buffer.byteLength(value) > VALUES_BYTES_MAX)
    throw new AppError(
      "unprocessable",
      `all values together have at most ${VALUES_BYTES_MAX} bytes`,
    );
}
