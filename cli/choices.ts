import { suggest } from "../daemon/settings/suggest.ts";
import { usageError } from "./errors.ts";

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
