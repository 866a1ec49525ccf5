import { z } from "zod";
import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { RegistrationTokenId, UserId, RunnerId, RepositoryId } from "../ids.ts";
import type { ActionLevel } from "./levels.ts";

/** A registered runner. Times are epoch milliseconds, 0 before the first. */
export interface ActionRunner extends ActionLevel {
  readonly id: RunnerId;
  readonly uuid: string;
  /** SHA-256 of its token, in hex. */
  readonly tokenHash: string;
  readonly name: string;
  readonly version: string;
  readonly labels: readonly string[];
  readonly capabilities: readonly string[];
  readonly isDisabled: boolean;
  readonly isEphemeral: boolean;
  readonly lastContactAt: number;
  /** The last report of a task or log. */
  readonly lastActivityAt: number;
}

export async function insertRunner(
  tx: Transaction,
  runner: Omit<ActionRunner, "id" | "isDisabled" | "lastContactAt" | "lastActivityAt">,
): Promise<ActionRunner> {
  const row = await tx.get<RunnerRow>(
    `INSERT INTO forge_action_runners (uuid, token_hash, name, owner_id, repository_id, version, labels, capabilities,
       is_disabled, is_ephemeral, last_contact_at, last_activity_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, 0, 0, ?) RETURNING ${columns}`,
    runner.uuid,
    runner.tokenHash,
    runner.name,
    runner.ownerId ?? null,
    runner.repositoryId ?? null,
    runner.version,
    JSON.stringify(runner.labels),
    JSON.stringify(runner.capabilities),
    Number(runner.isEphemeral),
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the runner returned no row");
  return toRunner(row);
}

/** Counts the runners that belong to a level itself. */
export async function countRunners(
  db: Queries,
  { ownerId, repositoryId }: ActionLevel,
): Promise<number> {
  const conditions = [
    ["owner_id", ownerId],
    ["repository_id", repositoryId],
  ] as const;
  const where = conditions.map(
    ([column, id]) => `${column} ${id === undefined ? "IS NULL" : "= ?"}`,
  );
  const values = conditions.flatMap(([, id]) => id ?? []);
  const row = await db.get<{ count: number }>(
    `SELECT COUNT(*) AS count FROM forge_action_runners WHERE ${where.join(" AND ")}`,
    ...values,
  );
  return row?.count ?? 0;
}

export async function findRunner(db: Queries, id: RunnerId): Promise<ActionRunner | undefined> {
  const row = await db.get<RunnerRow>(
    `SELECT ${columns} FROM forge_action_runners WHERE id = ?`,
    id,
  );
  return row && toRunner(row);
}

export async function findRunnerByUuid(
  db: Queries,
  uuid: string,
): Promise<ActionRunner | undefined> {
  const row = await db.get<RunnerRow>(
    `SELECT ${columns} FROM forge_action_runners WHERE uuid = ?`,
    uuid,
  );
  return row && toRunner(row);
}

/** Writes the given members of a runner. Returns whether it exists. */
export async function updateRunner(
  db: Queries,
  id: RunnerId,
  changes: Partial<
    Pick<
      ActionRunner,
      "version" | "labels" | "capabilities" | "isDisabled" | "lastContactAt" | "lastActivityAt"
    >
  >,
): Promise<boolean> {
  const values: [string, SqlValue][] = [];
  if (changes.version !== undefined) values.push(["version", changes.version]);
  if (changes.labels !== undefined) values.push(["labels", JSON.stringify(changes.labels)]);
  if (changes.capabilities !== undefined)
    values.push(["capabilities", JSON.stringify(changes.capabilities)]);
  if (changes.isDisabled !== undefined) values.push(["is_disabled", Number(changes.isDisabled)]);
  if (changes.lastContactAt !== undefined) values.push(["last_contact_at", changes.lastContactAt]);
  if (changes.lastActivityAt !== undefined)
    values.push(["last_activity_at", changes.lastActivityAt]);
  const { changes: count } = await db.run(
    `UPDATE forge_action_runners SET ${values.map(([column]) => `${column} = ?`).join(", ")} WHERE id = ?`,
    ...values.map(([, value]) => value),
    id,
  );
  return count === 1;
}

/** Deletes a runner; its tasks stay. Returns whether it existed. */
export async function deleteRunner(tx: Transaction, id: RunnerId): Promise<boolean> {
  const { changes } = await tx.run("DELETE FROM forge_action_runners WHERE id = ?", id);
  return changes === 1;
}

/**
 * Returns a page of runners and the count of all that fit: active, idle, offline; enabled before disabled; the last
 * contact first.
 * @param filter.level runners of this level alone; those of every level when absent
 * @param activity times since which a runner counts as online and as active
 */
export async function listRunners(
  db: Queries,
  filter: { readonly isDisabled: boolean | undefined; readonly level?: ActionLevel },
  activity: { readonly onlineSince: number; readonly activeSince: number },
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly runners: readonly ActionRunner[]; readonly total: number }> {
  const { isDisabled, level } = filter;
  const conditions: string[] = [];
  const values: number[] = [];
  if (isDisabled !== undefined) {
    conditions.push("is_disabled = ?");
    values.push(Number(isDisabled));
  }
  for (const [column, id] of [
    ["owner_id", level?.ownerId],
    ["repository_id", level?.repositoryId],
  ] as const)
    if (id !== undefined) {
      conditions.push(`${column} = ?`);
      values.push(id);
    }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_action_runners ${where}`,
    ...values,
  );
  const rows = await db.all<RunnerRow>(
    `SELECT ${columns} FROM forge_action_runners ${where}
     ORDER BY CASE WHEN last_contact_at < ? THEN 2 WHEN last_activity_at < ? THEN 1 ELSE 0 END,
       is_disabled, last_contact_at DESC, id LIMIT ? OFFSET ?`,
    ...values,
    activity.onlineSince,
    activity.activeSince,
    limit,
    offset,
  );
  return { runners: rows.map(toRunner), total: counted?.total ?? 0 };
}

/** A token that runners register with, as it is stored. */
export interface RegistrationToken {
  readonly id: RegistrationTokenId;
  readonly level: string;
  readonly isActive: boolean;
  /** Undefined once it is invalid. */
  readonly sealedToken: string | undefined;
}

export async function findActiveToken(
  db: Queries,
  level: string,
): Promise<RegistrationToken | undefined> {
  const row = await db.get<TokenRow>(
    `SELECT ${tokenColumns} FROM forge_action_registration_tokens WHERE level = ? AND is_active = 1`,
    level,
  );
  return row && toToken(row);
}

export async function findTokenByHash(
  db: Queries,
  hash: string,
): Promise<RegistrationToken | undefined> {
  const row = await db.get<TokenRow>(
    `SELECT ${tokenColumns} FROM forge_action_registration_tokens WHERE token_hash = ?`,
    hash,
  );
  return row && toToken(row);
}

/** Adds an active token of a level and invalidates the one before. */
export async function replaceToken(
  tx: Transaction,
  token: {
    readonly level: string;
    readonly hash: string;
    readonly seal: (id: RegistrationTokenId) => string;
  },
): Promise<void> {
  await tx.run(
    "UPDATE forge_action_registration_tokens SET is_active = 0, sealed_token = NULL WHERE level = ? AND is_active = 1",
    token.level,
  );
  const row = await tx.get<{ id: RegistrationTokenId }>(
    `INSERT INTO forge_action_registration_tokens (level, token_hash, is_active, created_at)
     VALUES (?, ?, 1, ?) RETURNING id`,
    token.level,
    token.hash,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the token returned no row");
  await tx.run(
    "UPDATE forge_action_registration_tokens SET sealed_token = ? WHERE id = ?",
    token.seal(row.id),
    row.id,
  );
}

interface TokenRow {
  id: RegistrationTokenId;
  level: string;
  is_active: number;
  sealed_token: string | null;
}

const tokenColumns = "id, level, is_active, sealed_token";

function toToken(row: TokenRow): RegistrationToken {
  return {
    id: row.id,
    level: row.level,
    isActive: row.is_active === 1,
    sealedToken: row.sealed_token ?? undefined,
  };
}

interface RunnerRow {
  id: RunnerId;
  uuid: string;
  token_hash: string;
  name: string;
  owner_id: UserId | null;
  repository_id: RepositoryId | null;
  version: string;
  labels: string;
  capabilities: string;
  is_disabled: number;
  is_ephemeral: number;
  last_contact_at: number;
  last_activity_at: number;
}

const columns = `id, uuid, token_hash, name, owner_id, repository_id, version, labels, capabilities, is_disabled,
  is_ephemeral, last_contact_at, last_activity_at`;

const textsSchema = z.array(z.string());

function toRunner(row: RunnerRow): ActionRunner {
  return {
    id: row.id,
    uuid: row.uuid,
    tokenHash: row.token_hash,
    name: row.name,
    ownerId: row.owner_id ?? undefined,
    repositoryId: row.repository_id ?? undefined,
    version: row.version,
    labels: parseColumn(textsSchema, row.labels, "forge_action_runners.labels"),
    capabilities: parseColumn(textsSchema, row.capabilities, "forge_action_runners.capabilities"),
    isDisabled: row.is_disabled === 1,
    isEphemeral: row.is_ephemeral === 1,
    lastContactAt: row.last_contact_at,
    lastActivityAt: row.last_activity_at,
  };
}
