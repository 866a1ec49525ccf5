import type { Readable } from "node:stream";
import { AppError } from "../errors.ts";

/** A file of a request. */
export interface UploadedFile {
  readonly name: string;
  readonly stream: Readable;
  /** In bytes; undefined when unknown. */
  readonly size: number | undefined;
}

const NAME_CHARACTERS_MAX = 255;

/**
 * Returns the last segment of a name, without control characters. Refuses an empty or too long one with
 * `unprocessable`.
 */
export function toFileName(requestedName: string): string {
  const name = requestedName
    .slice(Math.max(requestedName.lastIndexOf("/"), requestedName.lastIndexOf("\\")) + 1)
    .replace(/\p{Cc}/gu, "")
    .toWellFormed()
    .trim();
  if (name === "" || name === "." || name === "..")
    throw new AppError("unprocessable", "[Name]: Required");
  if (Array.from(name).length > NAME_CHARACTERS_MAX)
    throw new AppError("unprocessable", "[Name]: MaxSize");
  return name;
}
