import { readByteSize } from "../../daemon/settings/byte-size.ts";
import { usageError } from "../errors.ts";
import { suggest } from "../../daemon/settings/suggest.ts";

/** Returns the bytes that a flag's value means, in the notation of settings. @throws CliError `usage` */
export function toByteSize(text: string): number {
  const bytes = readByteSize(text);
  if (bytes === undefined)
    throw usageError(
      `${JSON.stringify(text)} is not a number of bytes`,
      "write 1048576, or 512MiB",
    );
  return bytes;
}

/** A day, or a time with or without its zone. */
const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Returns a day such as 2026-12-31 or a time in epoch milliseconds; undefined for any other text, and for a day that does
 * not exist: `Date` takes 31 February for 3 March, and `5` for May 2001.
 */
export function readTime(text: string): number | undefined {
  const [whole, year, month, day] = TIME.exec(text) ?? [];
  const at = whole === undefined ? Number.NaN : Date.parse(whole);
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return Number.isNaN(at) || date.getUTCDate() !== Number(day) ? undefined : at;
}

/** Returns the time that `--expires` means. @throws CliError `usage` */
export function toExpiry(text: string, now: number): string {
  const days = /^([1-9]\d{0,4})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(now + Number(days) * 86_400_000).toISOString();
  const isDayOrTime = /^[^T ]+$|T.*(?:Z|[+-]\d\d:\d\d)$/;
  const at = isDayOrTime.test(text) ? readTime(text) : undefined;
  if (at === undefined)
    throw usageError(
      `${JSON.stringify(text)} is not a time`,
      "write 90d, 2027-01-31, or 2027-01-31T12:00:00Z",
    );
  return new Date(at).toISOString();
}

/** The value of a flag that takes `true` or `false`; undefined when it was not given. */
export function readTrueOrFalse(flag: string, word: string | undefined): boolean | undefined {
  if (word === undefined) return undefined;
  return toChoice(flag, ["true", "false"], word) === "true";
}

/** Returns the choice that `value` names. @throws CliError `usage` that names the choices and the nearest one */
export function toChoice<const Choice extends string>(
  flag: string,
  choices: readonly Choice[],
  value: string,
): Choice {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw usageError(toChoiceMessage(flag, choices, value));
  return found;
}

/** `--state takes open, closed or all, not "opne"; did you mean open?` */
export function toChoiceMessage(flag: string, choices: readonly string[], value: string): string {
  const words = [choices.slice(0, -1).join(", "), choices.at(-1)].filter((word) => word !== "");
  return `${flag} takes ${words.join(" or ")}, not ${JSON.stringify(value)}${suggest(value, choices)}`;
}

/** The flag of a command of the forge that takes a code of the second factor. */
export const totpFlag = { "--totp <code>": "a code of your authenticator app" } as const;

/** Returns the header that carries the code. */
export function toTotpHeaders(code: string | undefined): {
  readonly headers?: Readonly<Record<string, string>>;
} {
  return code === undefined ? {} : { headers: { "X-Gitea-OTP": code } };
}
