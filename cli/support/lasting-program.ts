import { existsSync, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { CliContext } from "../context.ts";
import type { System } from "../system.ts";

interface LastingProgram {
  /** The program and the arguments that run this croft, without a command. */
  readonly program: System["program"];
  /** False when croft is found only in the cache of npx. */
  readonly isLasting: boolean;
}

/**
 * Returns the program to write into files that are used later. npx runs a package from a cache that npm clears. Then
 * this is the croft on the PATH, or else the clone that npx linked into the cache.
 */
export function findLastingProgram({
  program,
  env,
  platform,
}: Pick<System, "program" | "env" | "platform">): LastingProgram {
  if (!program.some(isInNpxCache)) return { program, isLasting: true };
  const installed = findInstalledCroft({ env, platform });
  if (installed !== undefined) return { program: [installed], isLasting: true };
  const [first, ...rest] = program;
  const real: System["program"] = [toRealPath(first), ...rest.map(toRealPath)];
  return { program: real, isLasting: !real.some(isInNpxCache) };
}

/** Warns people when the program that is written into a file may no longer exist when the file is used. */
export function warnUnlessLasting({
  system,
  io,
  output,
}: Pick<CliContext, "system" | "io" | "output">): void {
  const { program, isLasting } = findLastingProgram(system);
  if (isLasting || output.isMachine) return;
  io.warn(
    `warning: ${program.at(-1)} is in the cache of npx, which npm empties; "npm install --global" keeps croft, then run this again`,
  );
}

function isInNpxCache(path: string): boolean {
  return /[\\/]_npx[\\/]/.test(path);
}

/** Returns the croft on the PATH, without the cache and the `node_modules/.bin` folders that npx prepends. */
export function findInstalledCroft({
  env,
  platform,
}: Pick<System, "env" | "platform">): string | undefined {
  const names = platform === "win32" ? ["croft.exe", "croft.cmd"] : ["croft"];
  return (env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder))
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((file) => existsSync(file) && !isInNpxCache(realpathSync(file)));
}

/** Arguments of Node that are not paths stay as they are. */
function toRealPath(word: string): string {
  return isInNpxCache(word) && existsSync(word) ? realpathSync(word) : word;
}
