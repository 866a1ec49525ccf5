// cli/commands/vault/item/two-way: a sync in both directions. Start with run.ts; plan.ts has the rules.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CliContext } from "../../../../context.ts";
import { CliError } from "../../../../errors.ts";
import { withFileLock } from "../../../../profile/lock.ts";
import { writePrivateFile } from "../../../../profile/private-files.ts";
import { parseObject } from "../../../../support/json.ts";
import { codeOf } from "../../../../support/save-stream.ts";

/** Identifies the version of a local file. Nanoseconds and the inode number as text. */
export interface LocalMark {
  readonly size: number;
  readonly mtime: string;
  readonly ctime: string;
  readonly ino: string;
}

/** Identifies the version of an item of a connection. */
export interface RemoteMark {
  readonly id: string;
  /** Without quotes; null where the storage has none, and while the content is not verified. */
  readonly etag: string | null;
  readonly size: number | null;
  /** Null until a listing has shown it. */
  readonly modifiedAt: string | null;
}

/** A file as both sides had it at their last agreement. */
export interface AgreedFile {
  readonly kind: "file";
  readonly sha256: string;
  readonly local: LocalMark;
  /** Epoch milliseconds at which `local` was read: a change shortly afterwards may leave the same times. */
  readonly localSeenAt: number;
  readonly remote: RemoteMark;
}

/** A folder that both sides had. */
export interface AgreedFolder {
  readonly kind: "folder";
  /** Set for the root of another file system: when it is not mounted, its files are not deleted. */
  readonly isMount?: boolean;
}

export type Agreed = AgreedFile | AgreedFolder;

/** The last agreement by path, in NFC with slashes. */
export type Agreements = Map<string, Agreed>;

/** The state of one pair of a local folder and a folder of a connection. */
export interface PairState {
  /** The inode number of the local folder. */
  readonly rootIno: string;
  readonly entries: Agreements;
}

/** The state file of a pair. */
export type StateFile = Awaited<ReturnType<typeof openStateFile>>;

const VERSION = 1;

/** Opens the state of a pair, in croft's state folder. `local` is a real path, `remote` an address with the connection's id. */
export async function openStateFile(cli: CliContext, local: string, remote: string) {
  const pair = createHash("sha256")
    .update(JSON.stringify([local, remote]))
    .digest("hex");
  const { stateDirectory } = (await cli.config()).paths;
  const path = join(stateDirectory, "sync", `${pair.slice(0, 32)}.json`);
  return {
    path,
    /** Undefined before the first run. @throws CliError when the file is damaged or of another version of croft */
    async load(): Promise<PairState | undefined> {
      const text = await readFile(path, "utf8").catch((error: unknown) => {
        if (codeOf(error) === "ENOENT") return undefined;
        throw error;
      });
      if (text === undefined) return undefined;
      const { version, rootIno, entries } = parseObject(text) ?? {};
      const isSound = version === VERSION && typeof rootIno === "string" && entries !== null;
      if (!isSound || typeof entries !== "object")
        throw new CliError(
          "conflict",
          `the state of this pair, ${path}, cannot be read by this croft`,
          { hint: "remove the file: a run without it deletes nothing" },
        );
      return { rootIno, entries: new Map(Object.entries(entries as Record<string, Agreed>)) };
    },
    /** Replaces the state atomically. */
    save: ({ rootIno, entries }: PairState) =>
      writePrivateFile(
        path,
        JSON.stringify({ version: VERSION, local, remote, rootIno, entries: toObject(entries) }),
      ),
  };
}

/** An object without a prototype, because a file may be called `__proto__`. */
function toObject(entries: Agreements): object {
  const object = Object.create(null) as Record<string, Agreed>;
  for (const [path, agreed] of entries) object[path] = agreed;
  return object;
}

/** Runs `work` while no other sync of this pair runs. @throws CliError `conflict` at once when another one does */
export async function withPairLock<T>(
  cli: CliContext,
  { path }: StateFile,
  work: () => Promise<T>,
): Promise<T> {
  let hasBegun = false;
  try {
    return await withFileLock(
      `${path}.lock`,
      cli.system,
      () => {
        hasBegun = true;
        return work();
      },
      0,
    );
  } catch (error) {
    if (hasBegun || !(error instanceof CliError) || error.code !== "conflict") throw error;
    throw new CliError("conflict", "another sync of these two folders is running", {
      hint: "wait until it has ended, or stop it",
      cause: error,
    });
  }
}
