import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../../../storage/engine/database.ts";
import { createOwner } from "../../../storage/owner.ts";
import { isDiskFull } from "../../../storage/system-errors.ts";
import {
  deleteInboxFile,
  findInboxFile,
  listInboxFiles,
  putInboxFile,
} from "../../../storage/tables/vault/inbox-files.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import {
  findVaultUser,
  listVaultUsers,
  type VaultUser,
} from "../../../storage/tables/vault/users.ts";
import { UNKNOWN_MEDIA_TYPE } from "../../contract/media-type.ts";
import { filename as filenameSchema } from "../../contract/vault/documents.ts";
import { AppError } from "../../errors.ts";
import type { Log } from "../../utilities/logging.ts";
import type { VaultCaller } from "../caller.ts";
import type { FormUpload } from "../documents/uploads.service.ts";
import {
  forgetReason,
  hashOf,
  isUnchanged,
  listInbox,
  listRefused,
  openInbox,
  openSeen,
  removeSeen,
  type SeenFile,
  statOf,
  writeReason,
} from "./inbox-folder.ts";

export interface InboxDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly log: Pick<Log, "info" | "warn">;
  readonly uploads: {
    upload(caller: VaultCaller, input: FormUpload): Promise<unknown>;
  };
  /** The folder that holds a folder for each account. */
  readonly folder: string;
  /** Whether files are taken in. */
  readonly isEnabled: boolean;
}

/** What an account sees of its folder. */
export interface InboxState {
  readonly isEnabled: boolean;
  readonly handle: string;
  readonly problem: string | undefined;
  readonly files: readonly {
    readonly file: SeenFile;
    readonly status: "waiting" | "retrying" | "refused";
    readonly reason: string | undefined;
  }[];
}

/** How long a file must have kept its size and time. */
export const SETTLE_MS = 5_000;
/** How long a file waits that could not be stored for the moment. */
const RETRY_MS = 60_000;
const USERS_PAGE = 100;

/** What is known of a file from earlier looks. */
interface Known extends SeenFile {
  readonly since: number;
  /** When it may be tried again. */
  readonly after: number;
  /** Whether it could not be taken in for the moment. */
  readonly hasFailed?: boolean;
}

const OFF =
  "The inbox is off on this server. Its administrator turns it on with CROFT_INBOX=on (inbox: true).";
const RETRIED = "The storage, the disk or the database could not take it for the moment.";

/**
 * Takes in the files of folders on this machine: `inbox/HANDLE` for each active account of the vault. A file that has
 * settled becomes a document, which is classified like every other, and is then deleted in the folder. What cannot be
 * taken in stays, with the reason beside it.
 */
export function createInbox({ db, clock, log, uploads, folder, isEnabled }: InboxDeps) {
  /** Files that were seen, by path. */
  const known = new Map<string, Known>();
  /** Folders that are not used, with the reason: each is logged once. */
  const unused = new Map<string, string>();

  return {
    /**
     * Looks at all folders once. The accounts take turns with one file each. Returns whether files wait that have not settled
     * yet.
     */
    async scan(signal: AbortSignal): Promise<boolean> {
      signal.throwIfAborted();
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const queues: { readonly user: VaultUser; readonly files: SeenFile[] }[] = [];
      const paths = new Set<string>();
      for await (const user of listAccounts()) {
        signal.throwIfAborted();
        const files = await lookOrReport(user);
        for (const { path } of files) paths.add(path);
        queues.push({ user, files: files.filter(isDue) });
      }
      for (const path of known.keys()) if (!paths.has(path)) known.delete(path);
      await forgetGone(queues.map(({ user }) => user));
      for (let turn = 0; queues.some(({ files }) => turn < files.length); turn += 1)
        for (const { user, files } of queues) {
          const file = files[turn];
          if (file === undefined) continue;
          signal.throwIfAborted();
          await take(user, file);
        }
      return known.size > 0;
    },

    /** Returns the files of the caller's folder that are no documents yet. */
    async show({ userId, handle }: VaultCaller): Promise<InboxState> {
      const state = { isEnabled, handle, problem: undefined, files: [] };
      if (!isEnabled) return { ...state, problem: OFF };
      const own = await findOwnFolder(userId);
      if (typeof own === "object") return { ...state, problem: own.problem };
      const waiting = (await listInbox(own)).map((file) => {
        const hasFailed = known.get(file.path)?.hasFailed === true;
        return hasFailed
          ? ({ file, status: "retrying", reason: RETRIED } as const)
          : ({ file, status: "waiting", reason: undefined } as const);
      });
      const refused = (await listRefused(own)).map(
        (file) => ({ file, status: "refused", reason: file.reason }) as const,
      );
      return { ...state, files: [...waiting, ...refused].toSorted(byName) };
    },

    /**
     * Forgets why files of the caller were refused: of one by its name, or of all. Returns their number. Refuses with
     * `not_found` a name that no refused file has, with `conflict` where nothing is taken in.
     */
    async retry({ userId }: VaultCaller, name: string | undefined): Promise<number> {
      const own = isEnabled ? await findOwnFolder(userId) : { problem: OFF };
      if (typeof own === "object") throw new AppError("conflict", own.problem);
      const refused = await listRefused(own);
      const chosen = name === undefined ? refused : refused.filter((file) => file.name === name);
      if (name !== undefined && chosen.length === 0)
        throw new AppError("not_found", "No refused file of the inbox has this name.");
      for (const file of chosen) await forgetReason(file);
      return chosen.length;
    },
  };

  /** Returns the folder of an account, or why it is not used. */
  async function findOwnFolder(userId: AccountId): Promise<string | { readonly problem: string }> {
    const user = await findVaultUser(db, userId);
    if (user === undefined || !HANDLE.test(user.handle)) return { problem: "There is no folder." };
    const own = join(folder, user.handle);
    const reason = await openInbox(own, user.createdAt ?? 0);
    return reason === undefined ? own : { problem: `The folder is not used: ${reason}.` };
  }

  async function* listAccounts(): AsyncGenerator<VaultUser> {
    for (let offset = 0; ; offset += USERS_PAGE) {
      const page = { limit: USERS_PAGE, offset };
      const { users } = await listVaultUsers(db, { role: "user", isActive: true }, page);
      yield* users;
      if (users.length < USERS_PAGE) return;
    }
  }

  /** A folder that cannot be read stops none of the others. */
  async function lookOrReport(user: VaultUser): Promise<SeenFile[]> {
    try {
      return await look(user);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const own = join(folder, user.handle);
      if (unused.get(own) !== reason)
        log.warn({ err: error, handle: user.handle }, "failed to look at an inbox folder");
      unused.set(own, reason);
      return [];
    }
  }

  /** Lists the files of an account, and notes since when each is as it is. */
  async function look({ handle, createdAt }: VaultUser): Promise<SeenFile[]> {
    // Handles have only letters that are safe in paths; this is the last guard.
    if (!HANDLE.test(handle)) return [];
    const own = join(folder, handle);
    const reason = await openInbox(own, createdAt ?? 0);
    if (reason !== undefined) {
      if (unused.get(own) !== reason) log.warn({ handle, reason }, "inbox folder is not used");
      unused.set(own, reason);
      return [];
    }
    const files = await listInbox(own);
    unused.delete(own);
    const now = clock();
    for (const file of files) {
      const before = known.get(file.path);
      // A clock that was set back must not keep a file waiting.
      const isSame =
        before !== undefined && isUnchanged(before.stats, file.stats) && before.since <= now;
      if (!isSame) known.set(file.path, { ...file, since: now, after: now + SETTLE_MS });
    }
    return files;
  }

  /**
   * Forgets files that have left their folder, as a kill between the deletion of a file and that of its row leaves one: the
   * same file, put there again, is another document.
   */
  async function forgetGone(users: readonly VaultUser[]): Promise<void> {
    const handles = new Map(users.map(({ id, handle }) => [id, handle]));
    for (const { userId, name } of await listInboxFiles(db)) {
      const handle = handles.get(userId);
      if (handle !== undefined && (await statOf(join(folder, handle, name))) === undefined)
        await deleteInboxFile(db, { userId, name });
    }
  }

  function isDue({ path }: SeenFile): boolean {
    const file = known.get(path);
    return file !== undefined && file.after <= clock();
  }

  async function take(user: VaultUser, file: SeenFile): Promise<void> {
    const { name, path } = file;
    const key = { userId: user.id, name };
    try {
      if (!(await store(user, file))) {
        known.delete(path);
        return;
      }
      if (await removeSeen(file)) await deleteInboxFile(db, key);
      known.delete(path);
    } catch (error) {
      const reason = toReason(error);
      if (reason === undefined) {
        // The storage, the disk or the database cannot do it now.
        known.set(path, {
          ...{ ...file, hasFailed: true },
          ...{ since: clock(), after: clock() + RETRY_MS },
        });
        log.warn({ err: error, handle: user.handle }, "failed to take in a file of an inbox");
        return;
      }
      log.info({ handle: user.handle, reason }, "refused a file of an inbox");
      await explain(user, file, reason);
    }
  }

  /** Writes the reason beside a file. Where that is not possible, the file is tried again later. */
  async function explain(user: VaultUser, file: SeenFile, reason: string): Promise<void> {
    try {
      await writeReason(file, reason);
      known.delete(file.path);
    } catch (error) {
      known.set(file.path, { ...file, since: clock(), after: clock() + RETRY_MS });
      log.warn({ err: error, handle: user.handle }, "failed to tell why a file was refused");
    }
  }

  /** Stores a file as a document, unless it is one already. Returns false when it has changed meanwhile. */
  async function store(user: VaultUser, file: SeenFile): Promise<boolean> {
    const parsed = filenameSchema.safeParse(file.name);
    if (!parsed.success) throw new AppError("unprocessable", "No document can have this name.");
    await using owner = createOwner();
    const handle = await openSeen(file);
    if (handle === undefined) return false;
    owner.own(handle);
    const key = { userId: user.id, name: file.name };
    const earlier = await findInboxFile(db, key);
    if (earlier !== undefined && earlier.sha256 === (await hashOf(handle))) return true;
    const content = owner.own(handle.createReadStream({ start: 0, autoClose: false }));
    const isStill = async () => {
      const now = await statOf(file.path);
      return now !== undefined && isUnchanged(file.stats, now);
    };
    try {
      await uploads.upload(toCaller(user), {
        filename: parsed.data,
        contentType: UNKNOWN_MEDIA_TYPE,
        content,
        size: Number(file.stats.size),
        terms: {
          admit: async () => ((await isStill()) ? undefined : changed()),
          record: (tx, { id, sha256 }) => putInboxFile(tx, { ...key, sha256, documentId: id }),
        },
      });
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === "conflict") return false;
      throw error;
    }
  }
}

const HANDLE = /^[a-z][a-z0-9_-]*$/;

type StateFile = InboxState["files"][number];

const byName = ({ file: one }: StateFile, { file: other }: StateFile): number =>
  one.name < other.name ? -1 : 1;

const changed = () => new AppError("conflict", "The file has changed.");

/** Uploads of a folder are those of its owner. The audit record has this in the place of an address. */
function toCaller({ id: userId, handle, email, role }: VaultUser): VaultCaller {
  return { userId, handle, email, role, sessionId: undefined, address: "inbox" };
}

/** The reason of a failure that the file itself has; undefined for one that passes. */
function toReason(error: unknown): string | undefined {
  if (error instanceof AppError) {
    const { code, message, data } = error;
    if (["too_large", "unprocessable", "forbidden", "unsupported_type"].includes(code))
      return data.failures?.map(({ msg }) => msg).join(". ") ?? message;
    return undefined;
  }
  const { code } = error as NodeJS.ErrnoException;
  if (isDiskFull(error)) return undefined;
  if (code === "EACCES" || code === "EPERM")
    return "croft may not read this file, or not delete it. Give the user of the daemon the rights of its owner.";
  return undefined;
}
