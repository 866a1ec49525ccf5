import { readFile, open } from "node:fs/promises";
import { resolve } from "node:path";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";

/** Returns the text itself, or reads standard input for `-`. */
export async function readText(cli: CliContext, text: string): Promise<string> {
  return text === "-" ? cli.io.readInput(TEXT_BYTES_MAX) : text;
}

/** The flags of a command that takes a longer text. */
export interface TextFlags {
  readonly body?: string | undefined;
  readonly bodyFile?: string | undefined;
}

/** Returns the text of `--body` or of the file of `--body-file`; undefined without both. @throws CliError `usage` for both */
export async function readTextFlags(
  cli: CliContext,
  { body, bodyFile }: TextFlags,
): Promise<string | undefined> {
  if (body !== undefined && bodyFile !== undefined)
    throw usageError("--body and --body-file exclude each other");
  if (bodyFile === undefined) return body === undefined ? undefined : readText(cli, body);
  if (bodyFile === "-") return cli.io.readInput(TEXT_BYTES_MAX);
  return readFile(resolve(cli.system.workingDirectory, bodyFile), "utf8");
}

const TEXT_BYTES_MAX = 1024 * 1024;

const PICTURE_BYTES_MAX = 1024 * 1024;

/** Reads an image from a file and returns it in base64. @throws CliError `usage` when the file is too large */
export async function readPicture(cli: CliContext, file: string): Promise<string> {
  await using handle = await open(resolve(cli.system.workingDirectory, file));
  const { size } = await handle.stat();
  if (size > PICTURE_BYTES_MAX)
    throw usageError(`${file} is larger than ${PICTURE_BYTES_MAX} bytes`, "shrink the picture");
  return (await handle.readFile()).toString("base64");
}
