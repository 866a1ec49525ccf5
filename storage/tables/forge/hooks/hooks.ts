import { z } from "zod";
import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { UserId, RepositoryId, HookId } from "../ids.ts";

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

/** A hook. Times are epoch milliseconds. */
export interface ForgeHook {
  readonly id: HookId;
  readonly scope: HookScope;
  /** Undefined for hooks of other scopes, and for one whose repository was deleted. */
  readonly repositoryId: RepositoryId | undefined;
  /** The user or organization; undefined for hooks of other scopes. */
  readonly ownerId: UserId | undefined;
  readonly kind: string;
  readonly name: string;
  /** Address, secret and authorization header, sealed with the hook's id as the context. */
  readonly sealedTarget: string;
  readonly contentType: "json" | "form";
  readonly events: readonly string[];
  readonly branchFilter: string;
  readonly slack: SlackOptions | undefined;
  readonly isActive: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

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
  const row = await tx.get<{ id: HookId }>(
    `INSERT INTO forge_hooks
       (scope, repository_id, owner_id, kind, name, sealed_target, content_type, events, branch_filter, slack, is_active,
        created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    // The column has no value for hooks of owners; their `owner_id` distinguishes them.
    hook.scope === "owner" ? "repository" : hook.scope,
    hook.repositoryId ?? null,
    hook.ownerId ?? null,
    hook.kind,
    hook.name,
    hook.contentType,
    JSON.stringify(hook.events),
    hook.branchFilter,
    hook.slack === undefined ? null : JSON.stringify(hook.slack),
    Number(hook.isActive),
    tx.now,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the hook returned no row");
  const sealedTarget = seal(row.id);
  await tx.run("UPDATE forge_hooks SET sealed_target = ? WHERE id = ?", sealedTarget, row.id);
  return { ...hook, id: row.id, sealedTarget, createdAt: tx.now, updatedAt: tx.now };
}

/** Replaces all members of a hook that can change. */
export async function updateHook(
  tx: Transaction,
  id: HookId,
  hook: ForgeHookChanges,
): Promise<void> {
  await tx.run(
    `UPDATE forge_hooks SET name = ?, sealed_target = ?, content_type = ?, events = ?, branch_filter = ?, slack = ?,
       is_active = ?, updated_at = ? WHERE id = ?`,
    hook.name,
    hook.sealedTarget,
    hook.contentType,
    JSON.stringify(hook.events),
    hook.branchFilter,
    hook.slack === undefined ? null : JSON.stringify(hook.slack),
    Number(hook.isActive),
    tx.now,
    id,
  );
}

/** Removes a hook with its deliveries. */
export async function deleteHook(tx: Transaction, id: HookId): Promise<void> {
  await tx.run("DELETE FROM forge_hooks WHERE id = ?", id);
}

export async function findHook(db: Queries, id: HookId): Promise<ForgeHook | undefined> {
  const row = await db.get<HookRow>(`SELECT ${columns} FROM forge_hooks WHERE id = ?`, id);
  return row && toHook(row);
}

/** A page of the hooks of these scopes by id, and the count of all. */
export async function listHooks(
  db: Queries,
  scopes: readonly HookScope[],
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly hooks: readonly ForgeHook[]; readonly total: number }> {
  const within = `scope IN (${scopes.map(() => "?").join(", ")})`;
  const rows = await db.all<HookRow>(
    `SELECT ${columns} FROM forge_hooks WHERE ${within} ORDER BY id LIMIT ? OFFSET ?`,
    ...scopes,
    window.limit,
    window.offset,
  );
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_hooks WHERE ${within}`,
    ...scopes,
  );
  return { hooks: rows.map(toHook), total: counted?.total ?? 0 };
}

/** A page of the hooks of a repository or an owner by id, and the count of all. */
export async function listHooksOf(
  db: Queries,
  place: HookPlace,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly hooks: readonly ForgeHook[]; readonly total: number }> {
  const rows = await db.all<HookRow>(
    `SELECT ${columns} FROM forge_hooks WHERE ${toColumn(place)} = ? ORDER BY id LIMIT ? OFFSET ?`,
    place.id,
    window.limit,
    window.offset,
  );
  return { hooks: rows.map(toHook), total: await countHooksOf(db, place) };
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
  const rows = await db.all<HookRow>(
    `SELECT ${columns} FROM forge_hooks WHERE is_active = 1 AND repository_id = ?
     UNION ALL
     SELECT ${columns} FROM forge_hooks WHERE is_active = 1
       AND owner_id = COALESCE((SELECT owner_id FROM forge_repositories WHERE id = ?), ?)
     UNION ALL
     SELECT ${columns} FROM forge_hooks WHERE is_active = 1 AND scope = 'system'`,
    of.repositoryId ?? -1,
    of.repositoryId ?? -1,
    of.ownerId ?? -1,
  );
  return rows.map(toHook);
}

/** All default hooks, to be copied. */
export async function listDefaultHooks(db: Queries): Promise<ForgeHook[]> {
  const rows = await db.all<HookRow>(
    `SELECT ${columns} FROM forge_hooks WHERE scope = 'default' ORDER BY id`,
  );
  return rows.map(toHook);
}

const NOTHING_WAITS = `NOT EXISTS (
  SELECT 1 FROM forge_hook_deliveries d WHERE d.hook_id = forge_hooks.id AND d.state = 'waiting')`;
const IS_ORPHANED = "scope = 'repository' AND repository_id IS NULL AND owner_id IS NULL";

/**
 * Deletes the hooks of a repository or an owner that is about to be deleted, with their secrets. A hook with a waiting
 * delivery stays without its home, so that the receiver hears of the deletion; `deleteOrphanedHook` deletes it.
 */
export async function deleteIdleHooksOf(tx: Transaction, place: HookPlace): Promise<void> {
  await tx.run(
    `DELETE FROM forge_hooks WHERE ${toColumn(place)} = ? AND ${NOTHING_WAITS}`,
    place.id,
  );
}

/** Deletes a hook whose repository or owner was deleted, once no delivery waits. */
export async function deleteOrphanedHook(tx: Transaction, id: HookId): Promise<void> {
  await tx.run(`DELETE FROM forge_hooks WHERE id = ? AND ${IS_ORPHANED} AND ${NOTHING_WAITS}`, id);
}

/** Deletes hooks whose repository or owner was deleted, once no delivery waits. Returns the number of deleted hooks. */
export async function deleteOrphanedHooks(db: Queries): Promise<number> {
  const { changes } = await db.run(
    `DELETE FROM forge_hooks WHERE ${IS_ORPHANED} AND ${NOTHING_WAITS}`,
  );
  return changes;
}

interface HookRow extends Row {
  id: HookId;
  scope: Exclude<HookScope, "owner">;
  repository_id: RepositoryId | null;
  owner_id: UserId | null;
  kind: string;
  name: string;
  sealed_target: string;
  content_type: "json" | "form";
  events: string;
  branch_filter: string;
  slack: string | null;
  is_active: number;
  created_at: number;
  updated_at: number;
}

const columns =
  "id, scope, repository_id, owner_id, kind, name, sealed_target, content_type, events, branch_filter, slack, is_active, " +
  "created_at, updated_at";

function toHook(row: HookRow): ForgeHook {
  return {
    id: row.id,
    scope: row.owner_id === null ? row.scope : "owner",
    repositoryId: row.repository_id ?? undefined,
    ownerId: row.owner_id ?? undefined,
    kind: row.kind,
    name: row.name,
    sealedTarget: row.sealed_target,
    contentType: row.content_type,
    events: parseColumn(eventsSchema, row.events, "forge_hooks.events"),
    branchFilter: row.branch_filter,
    slack:
      row.slack === null
        ? undefined
        : parseColumn(slackOptionsSchema, row.slack, "forge_hooks.slack"),
    isActive: row.is_active === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
