import { createHash, randomBytes } from "node:crypto";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Finished } from "../support/croft.ts";
import type { Check, Client, Writer } from "./mixed-crash.ts";

// The writer of the crash test of mixed writes that synchronizes two folders by the command line.

/** A folder of this machine, the folder of the connection that is kept equal to it, and the command that does so. */
export interface SyncedFolders {
  readonly here: string;
  readonly there: string;
  sync(client: Client): Promise<Finished>;
}

/** Files that each side gets before a synchronization. */
const FILES = 5;
const BYTES = 40_000;
/** Nothing answers at the daemon's address, and some files were not copied. */
const CUT_OFF = [10, 14];

/** Returns the writer. Its check synchronizes again, which must make both sides equal with all that was ever written. */
export function synchronizing(folders: SyncedFolders): Writer {
  const { here, there } = folders;
  const written = new Map<string, string>();
  const isEqual: Check = async (client) => {
    const { code, stderr } = await folders.sync(client);
    expect([code, stderr]).toEqual([0, ""]);
    const files = await readFiles(here);
    expect(await readFiles(there)).toEqual(files);
    expect(files).toEqual(written);
  };
  return async (client, name, checks) => {
    for (let index = 0; ; index += 1) {
      for (const [label, folder] of Object.entries({ here, there })) {
        await mkdir(folder, { recursive: true });
        for (let file = 0; file < FILES; file += 1) {
          const path = `${name}-${index}-${label}-${file}`;
          const bytes = randomBytes(BYTES);
          await writeFile(join(folder, path), bytes);
          written.set(path, digest(bytes));
        }
      }
      const running = folders.sync(client);
      // The daemon is killed at the earliest when the first file is on the other side.
      if (index === 0) {
        await arrives(join(there, `${name}-0-here-0`), running);
        checks.push(isEqual);
      }
      const { code, stderr } = await running;
      if (code === 0) continue;
      expect(CUT_OFF, stderr).toContain(code);
      return;
    }
  };
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Waits for a file, or for the end of what should bring it. */
async function arrives(path: string, running: Promise<unknown>): Promise<void> {
  let isRunning = true;
  const ended = running.finally(() => (isRunning = false));
  const appeared = async () => {
    while (isRunning && !(await isThere(path))) await sleep(5);
  };
  await Promise.race([ended, appeared()]);
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Returns the digest of each file by its name, of parts of files too. */
async function readFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(folder);
  const files = names.map(
    async (name) => [name, digest(await readFile(join(folder, name)))] as const,
  );
  return new Map(await Promise.all(files));
}
