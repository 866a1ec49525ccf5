import { join } from "node:path";
import { asObject, parseObject } from "../support/json.ts";
import { writePrivateFile } from "./private-files.ts";
import { readPrivateFile } from "./read-private-file.ts";
import type { SettingFlags } from "./settings.ts";

/** The flags with which a daemon was started: no file has them, and a restart must not forget them. */
export interface StartFlags {
  readonly settings: SettingFlags;
  readonly hasRunner: boolean;
  /** The folder in which relative paths of the flags start. */
  readonly workingDirectory: string;
}

function pathIn(stateDirectory: string): string {
  return join(stateDirectory, "daemon-flags.json");
}

/** Keeps the flags of the daemon with the process id `pid`. Flags hold no secrets. */
export async function keepStartFlags(
  stateDirectory: string,
  pid: number,
  { settings, hasRunner, workingDirectory }: StartFlags,
): Promise<void> {
  const kept = { pid, settings, runner: hasRunner, working_directory: workingDirectory };
  await writePrivateFile(pathIn(stateDirectory), `${JSON.stringify(kept)}\n`);
}

/** Returns the flags of the daemon that had this process id; undefined when another one was started after it. */
export function findStartFlags(stateDirectory: string, pid: number): StartFlags | undefined {
  const text = readPrivateFile(pathIn(stateDirectory));
  const kept = text === undefined ? undefined : parseObject(text);
  const { settings, runner, working_directory: folder } = kept ?? {};
  const flags = asObject(settings);
  if (kept?.["pid"] !== pid || flags === undefined || typeof folder !== "string") return undefined;
  return { settings: flags, hasRunner: runner === true, workingDirectory: folder };
}
