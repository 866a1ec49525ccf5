import type { Queries, Transaction } from "../../../engine/database.ts";
import {
  flag,
  generated,
  id,
  initial,
  integer,
  now,
  oneOf,
  optional,
  text,
} from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type Page, type RecordOf, type Window } from "../../table.ts";
import type { MirrorId, RepositoryId, UserId } from "../ids.ts";
import { updateRepository } from "./repositories.ts";

const mirrors = defineTable("forge_mirrors", {
  id: generated(id<MirrorId>()),
  repositoryId: id<RepositoryId>(),
  /** The person who set it up; undefined once the account is deleted. */
  actorId: optional(id<UserId>()),
  /** `pull`: the repository follows the address. `push`: the address follows the repository. */
  direction: oneOf(["pull", "push"]),
  /** Unique among all mirrors. */
  name: text(),
  /** Without credentials. */
  address: text(),
  sealedCredentials: text(),
  /** 0: only on request. */
  intervalSeconds: integer(),
  /** Whether a push to the repository is passed on at once. */
  syncOnCommit: flag(),
  /** When it is due; undefined: only on request. */
  nextAt: optional(integer()),
  /** Attempts that failed since the last one that did not. */
  failures: initial(0, integer()),
  /** After a success what could not be done, and empty when there is nothing to tell. */
  lastError: initial("", text()),
  /** The last success. */
  syncedAt: optional(integer()),
  createdAt: now(),
  /** `push`: the server had all files of Git LFS that its branches and tags name after the last push. */
  hasLargeFiles: initial(false, flag()),
});
/** A mirror of a repository. Times are epoch milliseconds. */
export type ForgeMirror = RecordOf<typeof mirrors>;

export type NewMirror = Pick<
  ForgeMirror,
  | "repositoryId"
  | "actorId"
  | "direction"
  | "name"
  | "address"
  | "intervalSeconds"
  | "syncOnCommit"
  | "nextAt"
  | "syncedAt"
>;

/** Adds a mirror; `seal` gets its id. */
export async function insertMirror(
  tx: Transaction,
  mirror: NewMirror,
  seal: (id: MirrorId) => string,
): Promise<ForgeMirror> {
  const { id: mirrorId } = await mirrors.insert(tx, { ...mirror, sealedCredentials: "" });
  const changed = await mirrors.change(tx, { id: mirrorId }, { sealedCredentials: seal(mirrorId) });
  if (changed === undefined) throw new Error("a mirror vanished in its transaction");
  return changed;
}

export function findMirror(db: Queries, id: MirrorId): Promise<ForgeMirror | undefined> {
  return mirrors.find(db, { id });
}

/** Returns the pull mirror of a repository. */
export function findPullMirror(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<ForgeMirror | undefined> {
  return mirrors.find(db, { repositoryId, direction: "pull" });
}

export function findPushMirror(
  db: Queries,
  repositoryId: RepositoryId,
  name: string,
): Promise<ForgeMirror | undefined> {
  return mirrors.find(db, { repositoryId, direction: "push", name });
}

/** Returns a page of the push mirrors of a repository, the oldest first. */
export function listPushMirrors(
  db: Queries,
  repositoryId: RepositoryId,
  window: Window,
): Promise<Page<ForgeMirror>> {
  return mirrors.page(db, { repositoryId, direction: "push" }, { ...window, order: "id" });
}

export function countPushMirrors(db: Queries, repositoryId: RepositoryId): Promise<number> {
  return mirrors.count(db, { repositoryId, direction: "push" });
}

/** Returns the push mirrors that get each push at once. */
export function listMirrorsOnCommit(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<ForgeMirror[]> {
  return mirrors.list(db, { repositoryId, direction: "push", syncOnCommit: true });
}

/**
 * Returns the mirrors that are due, the longest due first. So are those whose time is further away than their interval and
 * `waitMs`, the longest wait after failures: a clock was ahead.
 */
export function listDueMirrors(
  db: Queries,
  now: number,
  { waitMs, limit }: { readonly waitMs: number; readonly limit: number },
): Promise<ForgeMirror[]> {
  return mirrors.list(
    db,
    sql`next_at <= ${now} OR next_at > ${now} + interval_seconds * 1000 + ${waitMs}`,
    { order: "next_at, id", limit },
  );
}

/** Returns whether any mirror has a schedule. */
export function hasScheduledMirrors(db: Queries): Promise<boolean> {
  return mirrors.exists(db, sql`next_at IS NOT NULL`);
}

/** Writes the given members. Returns whether the mirror exists. */
export async function updateMirror(
  db: Queries,
  id: MirrorId,
  changes: Partial<
    Pick<ForgeMirror, "intervalSeconds" | "failures" | "lastError" | "hasLargeFiles"> & {
      readonly nextAt: number | undefined;
      readonly syncedAt: number;
    }
  >,
): Promise<boolean> {
  return (await mirrors.update(db, { id }, changes)) > 0;
}

/** Deletes a mirror; its repository is a normal one afterwards. Idempotent. */
export async function deleteMirror(tx: Transaction, mirror: ForgeMirror): Promise<void> {
  await mirrors.delete(tx, { id: mirror.id });
  if (mirror.direction === "pull")
    await updateRepository(tx, mirror.repositoryId, { isMirror: false, mirrorIntervalSeconds: 0 });
}
