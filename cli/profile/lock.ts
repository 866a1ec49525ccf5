import { randomUUID } from "node:crypto";
import { link, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { CliError } from "../errors.ts";
import type { System } from "../system.ts";
import { makePrivateFolder } from "./private-files.ts";
import { parseObject } from "../support/json.ts";

type Dependencies = Pick<System, "pid" | "clock" | "sleep" | "isProcessAlive">;

/** Interval of the lock file's keep-alive. */
const heartbeatMs = 5_000;
/** After this time without keep-alive, a living process with the holder's id counts as another process. */
const silentMs = 60_000;
const pollMs = 25;
const usualPatienceMs = 45_000;

/**
 * Runs `work` while no other process does so under the same `path`.
 *
 * The lock is a file that names its holder. A hard link creates it atomically, so no process reads a partial file, and
 * only one of several links succeeds. A dead holder is recognised by its process id at once, or, when another process
 * reused the id, by its missing keep-alive. The file of a dead holder is removed under a second lock of the same kind,
 * after another check: otherwise two processes that saw the same dead holder could remove the file of a new one.
 * @throws CliError `conflict` when a living holder does not finish within `patienceMs`, by default 45 seconds
 */
export async function withFileLock<T>(
  path: string,
  system: Dependencies,
  work: () => Promise<T>,
  patienceMs = usualPatienceMs,
): Promise<T> {
  await makePrivateFolder(dirname(path));
  const ownFile = `${path}.${randomUUID()}`;
  const holder: Holder = { pid: system.pid, host: hostname() };
  await writeFile(ownFile, JSON.stringify(holder), { mode: 0o600, flag: "wx" });
  const touch = (file: string) => {
    const now = new Date(system.clock());
    return utimes(file, now, now);
  };
  try {
    await touch(ownFile);
    await acquire(path, ownFile, system, patienceMs);
    const beat = setInterval(() => {
      // Both names are one file. By its own name: after a long suspension, the lock may be another process's. The next
      // keep-alive makes up for a failed one.
      touch(ownFile).catch(() => undefined);
    }, heartbeatMs);
    beat.unref();
    try {
      return await work();
    } finally {
      clearInterval(beat);
      await release(path, ownFile);
    }
  } finally {
    await rm(ownFile, { force: true });
  }
}

/** Removes the lock if it still is this process's: another one takes over a lock that was not kept alive. */
async function release(path: string, ownFile: string): Promise<void> {
  const own = await stat(ownFile);
  const held = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (held?.ino === own.ino && held.dev === own.dev) await rm(path, { force: true });
}

interface Holder {
  readonly pid: number;
  readonly host: string;
}

async function acquire(
  path: string,
  ownFile: string,
  system: Dependencies,
  patienceMs: number,
): Promise<void> {
  const deadline = system.clock() + patienceMs;
  while (!(await tryLink(ownFile, path))) {
    if (await isAbandoned(path, system)) await removeAbandoned(path, ownFile, system);
    else if (system.clock() > deadline)
      throw new CliError("conflict", `another croft process has held ${path} for too long`, {
        hint: `if no other croft is running, remove ${path}`,
      });
    else await system.sleep(pollMs + Math.floor(system.pid % pollMs));
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function isAbandoned(path: string, system: Dependencies): Promise<boolean> {
  try {
    const { pid, host } = parseObject(await readFile(path, "utf8")) ?? {};
    if (typeof pid !== "number" || typeof host !== "string") return true;
    const { mtimeMs } = await stat(path);
    const isSilent = system.clock() - mtimeMs > silentMs;
    return isSilent || (host === hostname() && !system.isProcessAlive(pid));
  } catch (error) {
    // The holder released it at this moment.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function removeAbandoned(path: string, ownFile: string, system: Dependencies): Promise<void> {
  const broom = `${path}.broom`;
  if (!(await tryLink(ownFile, broom))) {
    // It is held only briefly. That of a dead holder is removed by its age or its process id.
    if (await isAbandoned(broom, system)) await rm(broom, { force: true });
    await system.sleep(pollMs);
    return;
  }
  try {
    if (await isAbandoned(path, system)) await rm(path, { force: true });
  } finally {
    await rm(broom, { force: true });
  }
}
