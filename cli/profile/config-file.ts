import { readFileSync } from "node:fs";
import type { PathEnvironment } from "../../daemon/settings/paths.ts";
import { CliError } from "../errors.ts";
import type { System } from "../system.ts";

/** The parts of a system that settings depend on. */
export type ConfigSystem = Pick<System, "env" | "platform" | "homeDirectory" | "workingDirectory">;

/** The system values that settings are resolved from. */
export function toPathEnvironment(system: ConfigSystem): PathEnvironment {
  const { env, platform, homeDirectory, workingDirectory } = system;
  return { env, platform, homeDirectory, workingDirectory };
}

/** Returns the text of a file, or undefined when it does not exist. */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw toReadFailure(path, error);
  }
}

/** Converts a failure to read a file: Node's message lacks the path of a folder, and the remedy for a file of another user. */
export function toReadFailure(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EISDIR")
    return new CliError("file_error", `${path} is a folder where croft keeps a file`, {
      hint: "look through it, and move it away",
      cause: error,
    });
  if (code === "EACCES" || code === "EPERM")
    return new CliError("file_error", `this user may not read ${path}`, {
      hint: "check its owner and mode and those of the folders above it",
      cause: error,
    });
  return error;
}
