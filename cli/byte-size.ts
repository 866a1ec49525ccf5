import { readByteSize } from "../daemon/settings/byte-size.ts";
import { usageError } from "./errors.ts";

/** The bytes that a flag's value means, spelled as in settings. @throws CliError `usage` */
export function toByteSize(text: string): number {
  const bytes = readByteSize(text);
  if (bytes === undefined)
    throw usageError(`${JSON.stringify(text)} is no number of bytes`, "write 1048576, or 512MiB");
  return bytes;
}
