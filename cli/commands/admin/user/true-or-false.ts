import { usageError } from "../../../errors.ts";

/** The value of a flag that takes `true` or `false`; undefined when it was not given. */
export function readTrueOrFalse(flag: string, word: string | undefined): boolean | undefined {
  if (word === undefined) return undefined;
  if (word === "true" || word === "false") return word === "true";
  throw usageError(`${flag} takes true or false, not ${JSON.stringify(word)}`);
}
