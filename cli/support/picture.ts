import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";

const PICTURE_BYTES_MAX = 1024 * 1024;

/** Reads an image from a file and returns it in base64. @throws CliError `usage` when the file is too large */
export async function readPicture(cli: CliContext, file: string): Promise<string> {
  await using handle = await open(resolve(cli.system.workingDirectory, file));
  const { size } = await handle.stat();
  if (size > PICTURE_BYTES_MAX)
    throw usageError(`${file} is larger than ${PICTURE_BYTES_MAX} bytes`, "shrink the picture");
  return (await handle.readFile()).toString("base64");
}
