import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, RepositoryId, HookId } from "../ids.ts";
import {
  derived,
  flag,
  generated,
  id,
  json,
  now,
  optional,
  text,
  named,
  unread,
} from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { type Condition, raw, sql } from "../../condition.ts";
import { insertJob } from "../../common/jobs.ts";
import { deleteDeliveriesOf } from "./deliveries.ts";

/** `owner` fires for all repositories of a user or an organization. */
export type HookScope = "system" | "default" | "repository" | "owner";
/** The owner of the hooks that a list returns. */
export type HookPlace =
  | { readonly kind: "repository"; readonly id: RepositoryId }
  | { readonly kind: "owner"; readonly id: UserId };

const slackOptionsSchema = z.object({
  channel: z.string(),
  username: z.string(),
  iconUrl: z.string(),
  color: z.string(),
});
/** The appearance of a Slack hook's messages. */
export type SlackOptions = Readonly<z.output<typeof slackOptionsSchema>>;

const eventsSchema = z.array(z.string());

const hooks = defineTable("forge_hooks", {
  id: generated(id<HookId>()),
  scope: derived("CASE WHEN owner_id IS NULL THEN scope ELSE 'owner' END", text<HookScope>()),
  storedScope: unread(named("scope", text())),
  /** Undefined for hooks of other scopes, and for one whose repository was deleted. */
  repositoryId: optional(id<RepositoryId>()),
  /** The user or organization; undefined for hooks of other scopes. */
  ownerId: optional(id<UserId>()),
  kind: text(),
  name: text(),
  /** Address, secret and authorization header, sealed with the hook's id as the context. */
  sealedTarget: text(),
  contentType: text<"json" | "form">(),
  events: json(eventsSchema),
  branchFilter: text(),
  slack: optional(json(slackOptionsSchema)),
  isActive: flag(),
  isDeleted: unread(generated(flag())),
  createdAt: now(),
  updatedAt: now(),
});
/** A hook. Times are epoch milliseconds. */
export type ForgeHook = RecordOf<typeof hooks>;

export type NewForgeHook = Omit<ForgeHook, "id" | "sealedTarget" | "createdAt" | "updatedAt">;
export type ForgeHookChanges = Pick<
  ForgeHook,
  "name" | "sealedTarget" | "contentType" | "events" | "branchFilter" | "slack" | "isActive"
>;

/** Adds a hook. `seal` returns the sealed target for its id. */
export async function insertHook(
  tx: Transaction,
  hook: NewForgeHook,
  seal: (id: HookId) => string,
): Promise<ForgeHook> {
  const row = await hooks.insert(tx, {
    ...hook,
    // The column has no value for hooks of owners; their `owner_id` distinguishes them.
    storedScope: hook.scope === "owner" ? "repository" : hook.scope,
    sealedTarget: "",
  });
  const sealedTarget = seal(row.id);
  await hooks.update(tx, { id: row.id }, { sealedTarget });
  return { ...hook, id: row.id, sealedTarget, createdAt: tx.now, updatedAt: tx.now };
}

/** Replaces all members of a hook that can change. */
export async function updateHook(
  tx: Transaction,
  id: HookId,
  hook: ForgeHookChanges,
): Promise<void> {
  const { name, sealedTarget, contentType, events, branchFilter, slack, isActive } = hook;
  const changes = { name, sealedTarget, contentType, events, branchFilter, slack, isActive };
  await hooks.update(tx, { id }, { ...changes, updatedAt: tx.now });
}

/** Deletes a hook with its secrets. Its deliveries, which may be very many, are deleted by a job. */
export async function deleteHook(tx: Transaction, id: HookId): Promise<void> {
  await markDeleted(tx, sql`id = ${id}`);
}

/** Returns a hook that was not deleted. */
export async function findHook(db: Queries, id: HookId): Promise<ForgeHook | undefined> {
  return hooks.find(db, { id, isDeleted: false });
}

/** A page of the hooks of these scopes by id, and the count of all. */
export async function listHooks(
  db: Queries,
  scopes: readonly HookScope[],
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly hooks: readonly ForgeHook[]; readonly total: number }> {
  const within = `scope IN (${scopes.map(() => "?").join(", ")})`;
  const rows = await hooks.readAll(
    db,
    `SELECT ${hooks.columns} FROM forge_hooks WHERE ${within} ORDER BY id LIMIT ? OFFSET ?`,
    ...scopes,
    window.limit,
    window.offset,
  );
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_hooks WHERE ${within}`,
    ...scopes,
  );
  return { hooks: rows, total: counted?.total ?? 0 };
}

/** A page of the hooks of a repository or an owner by id, and the count of all. */
export async function listHooksOf(
  db: Queries,
  place: HookPlace,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly hooks: readonly ForgeHook[]; readonly total: number }> {
  const rows = await hooks.readAll(
    db,
    `SELECT ${hooks.columns} FROM forge_hooks WHERE ${toColumn(place)} = ? ORDER BY id LIMIT ? OFFSET ?`,
    place.id,
    window.limit,
    window.offset,
  );
  return { hooks: rows, total: await countHooksOf(db, place) };
}

export async function countHooksOf(db: Queries, place: HookPlace): Promise<number> {
  const row = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_hooks WHERE ${toColumn(place)} = ?`,
    place.id,
  );
  return row?.total ?? 0;
}

const toColumn = ({ kind }: HookPlace): string =>
  kind === "repository" ? "repository_id" : "owner_id";

/** Returns the active hooks that an event may concern: those of the repository, of its owner, and the system hooks. */
export async function listFiringHooks(
  db: Queries,
  of: {
    readonly repositoryId: RepositoryId | undefined;
    /** The owner of an event that belongs to no repository; for other events the owner of the repository is used. */
    readonly ownerId?: UserId | undefined;
  },
): Promise<ForgeHook[]> {
  return hooks.readAll(
    db,
    `SELECT ${hooks.columns} FROM forge_hooks WHERE is_active = 1 AND repository_id = ?
     UNION ALL
     SELECT ${hooks.columns} FROM forge_hooks WHERE is_active = 1
       AND owner_id = COALESCE((SELECT owner_id FROM forge_repositories WHERE id = ?), ?)
     UNION ALL
     SELECT ${hooks.columns} FROM forge_hooks WHERE is_active = 1 AND scope = 'system'`,
    of.repositoryId ?? -1,
    of.repositoryId ?? -1,
    of.ownerId ?? -1,
  );
}

/** All default hooks, to be copied. */
export async function listDefaultHooks(db: Queries): Promise<ForgeHook[]> {
  return hooks.list(db, sql`scope = 'default'`, { order: "id" });
}

const NOTHING_WAITS = raw(`NOT EXISTS (
  SELECT 1 FROM forge_hook_deliveries d WHERE d.hook_id = forge_hooks.id AND d.state = 'waiting')`);
const IS_ORPHANED = raw(
  "scope = 'repository' AND repository_id IS NULL AND owner_id IS NULL AND is_deleted = 0",
);

/**
 * Deletes the hooks of a repository or an owner that is about to be deleted, with their secrets. A hook with a waiting
 * delivery stays without its home, so that the receiver hears of the deletion; `deleteOrphanedHook` deletes it.
 */
export async function deleteIdleHooksOf(tx: Transaction, place: HookPlace): Promise<void> {
  await markDeleted(tx, sql`${raw(toColumn(place))} = ${place.id} AND ${NOTHING_WAITS}`);
}

/** Deletes a hook whose repository or owner was deleted, once no delivery waits. */
export async function deleteOrphanedHook(tx: Transaction, id: HookId): Promise<void> {
  await markDeleted(tx, sql`id = ${id} AND ${IS_ORPHANED} AND ${NOTHING_WAITS}`);
}

/** Deletes hooks whose repository or owner was deleted, once no delivery waits. Returns the number of deleted hooks. */
export function deleteOrphanedHooks(tx: Transaction): Promise<number> {
  return markDeleted(tx, sql`${IS_ORPHANED} AND ${NOTHING_WAITS}`);
}

/** The kind of the job that calls `deleteSomeOfDeletedHooks` until nothing is left. */
export const DELETED_HOOKS_JOB = "forge.hooks.delete";

/** Marks hooks as deleted, which none of the other functions finds, and adds the job that deletes their rows. */
async function markDeleted(tx: Transaction, where: Condition): Promise<number> {
  const marked = await hooks.update(tx, where, {
    isDeleted: true,
    isActive: false,
    sealedTarget: "",
    storedScope: "repository",
    repositoryId: undefined,
    ownerId: undefined,
  });
  const job = { kind: DELETED_HOOKS_JOB, key: "all", payload: {}, runAt: tx.now };
  if (marked > 0) await insertJob(tx, job);
  return marked;
}

/**
 * Deletes up to `limit` deliveries of deleted hooks, or the row of such a hook that has none. Returns whether there may be
 * more.
 */
export async function deleteSomeOfDeletedHooks(tx: Transaction, limit: number): Promise<boolean> {
  const hook = await hooks.find(tx, { isDeleted: true }, "id");
  if (hook === undefined) return false;
  if ((await deleteDeliveriesOf(tx, hook.id, limit)) === 0) await hooks.delete(tx, { id: hook.id });
  return true;
}
