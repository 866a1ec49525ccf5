import { open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import { makePrivateFolder } from "../profile/private-files.ts";
import type { System } from "../system.ts";
import { parseObject } from "../support/json-object.ts";

type LockSystem = Pick<System, "pid" | "isProcessAlive" | "processMark">;

/** Attempts to replace the file of a process that has ended. */
const TRIES = 5;

/**
 * Makes this process the only one that runs jobs in a folder: another one would take its jobs for those of a dead process.
 * A lock of a process that has ended is replaced. @returns the function that releases the lock
 * @throws CliError `conflict`
 */
export async function acquireRunnerLock(
  folder: string,
  system: LockSystem,
): Promise<() => Promise<void>> {
  await makePrivateFolder(folder);
  const path = join(folder, "lock.json");
  const { pid } = system;
  const text = JSON.stringify({ pid, mark: system.processMark(pid) ?? null });
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (await createFile(path, text)) return () => rm(path, { force: true });
    const holder = await readHolder(path);
    if (holder !== undefined && isAlive(holder, system))
      throw new CliError("conflict", `the process ${holder.pid} runs this runner already`, {
        hint: "stop it first; another runner needs a home of its own (--home)",
      });
    await rm(path, { force: true });
  }
  throw new CliError("conflict", `${path} is replaced by other processes`);
}

interface Holder {
  readonly pid: number;
  readonly mark: string | null;
}

async function createFile(path: string, text: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.writeFile(text);
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    // Undefined members: a process was killed while it wrote the file.
    const { pid, mark } = parseObject(await readFile(path, "utf8")) ?? {};
    if (typeof pid !== "number") return undefined;
    return { pid, mark: typeof mark === "string" ? mark : null };
  } catch (error) {
    // Its owner removed it in this moment.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive({ pid, mark }: Holder, system: LockSystem): boolean {
  if (pid === system.pid || !system.isProcessAlive(pid)) return false;
  const found = system.processMark(pid);
  return mark === null || found === undefined || found === mark;
}
