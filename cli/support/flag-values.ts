import { toChoice } from "../choices.ts";
import { readByteSize } from "../../daemon/settings/byte-size.ts";
import { usageError } from "../errors.ts";

/** The bytes that a flag's value means, spelled as in settings. @throws CliError `usage` */
export function toByteSize(text: string): number {
  const bytes = readByteSize(text);
  if (bytes === undefined)
    throw usageError(
      `${JSON.stringify(text)} is not a number of bytes`,
      "write 1048576, or 512MiB",
    );
  return bytes;
}

/** The value of a flag that takes `true` or `false`; undefined when it was not given. */
export function readTrueOrFalse(flag: string, word: string | undefined): boolean | undefined {
  if (word === undefined) return undefined;
  return toChoice(flag, ["true", "false"], word) === "true";
}
