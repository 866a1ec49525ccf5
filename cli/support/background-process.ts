import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { System } from "../system.ts";

/** A croft process in its own session: it keeps running when this process and its terminal end. */
export interface BackgroundProcess {
  readonly pid: number;
  /** The first line that it prints; undefined when it ends without one. */
  readonly firstLine: Promise<string | undefined>;
  /** Everything that it has written to standard error. */
  readErrors(): Promise<string>;
  /** Lets this process end before the other one does. */
  release(): void;
}

/**
 * Runs this croft with `words` in the background. Its standard error goes to the file `errorPath`, which is emptied first.
 * @throws the system's error when the program cannot be started
 */
export async function startInBackground(
  { program, env, workingDirectory }: Pick<System, "program" | "env" | "workingDirectory">,
  words: readonly string[],
  errorPath: string,
): Promise<BackgroundProcess> {
  const [file, ...before] = program;
  const errors = openSync(errorPath, "w", 0o600);
  const child = spawn(file, [...before, ...words], {
    cwd: workingDirectory,
    env,
    detached: true,
    windowsHide: true,
    stdio: ["ignore", "pipe", errors],
  });
  closeSync(errors);
  const output = child.stdout as Readable;
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  const firstLine = new Promise<string | undefined>((resolve) => {
    createInterface(output).once("line", resolve);
    child.once("exit", () => resolve(undefined));
  });
  return {
    pid: child.pid ?? 0,
    firstLine,
    readErrors: () => readFile(errorPath, "utf8"),
    release() {
      output.destroy();
      child.unref();
    },
  };
}
