import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import type { RegistrationTokenId, UserId, RunnerId, RepositoryId } from "../ids.ts";
import type { ActionLevel } from "./levels.ts";
import { flag, generated, id, integer, json, now, optional, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";

const textsSchema = z.array(z.string());

const runners = defineTable("forge_action_runners", {
  ownerId: optional(id<UserId>()),
  repositoryId: optional(id<RepositoryId>()),
  id: generated(id<RunnerId>()),
  uuid: text(),
  /** SHA-256 of its token, in hex. */
  tokenHash: text(),
  name: text(),
  version: text(),
  labels: json(textsSchema),
  capabilities: json(textsSchema),
  isDisabled: flag(),
  isEphemeral: flag(),
  lastContactAt: integer(),
  /** The last report of a task or log. */
  lastActivityAt: integer(),
  createdAt: unread(now()),
});
/** A registered runner. Times are epoch milliseconds, 0 before the first. */
export type ActionRunner = RecordOf<typeof runners>;

export async function insertRunner(
  tx: Transaction,
  runner: Omit<ActionRunner, "id" | "isDisabled" | "lastContactAt" | "lastActivityAt">,
): Promise<ActionRunner> {
  return runners.insert(tx, { ...runner, isDisabled: false, lastContactAt: 0, lastActivityAt: 0 });
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
  return runners.find(db, { id });
}

export async function findRunnerByUuid(
  db: Queries,
  uuid: string,
): Promise<ActionRunner | undefined> {
  return runners.find(db, { uuid });
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
  return (await runners.update(db, { id }, changes)) === 1;
}

/** Deletes a runner; its tasks stay. Returns whether it existed. */
export async function deleteRunner(tx: Transaction, id: RunnerId): Promise<boolean> {
  return (await runners.delete(tx, { id })) === 1;
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
  const rows = await runners.readAll(
    db,
    `SELECT ${runners.columns} FROM forge_action_runners ${where}
     ORDER BY CASE WHEN last_contact_at < ? THEN 2 WHEN last_activity_at < ? THEN 1 ELSE 0 END,
       is_disabled, last_contact_at DESC, id LIMIT ? OFFSET ?`,
    ...values,
    activity.onlineSince,
    activity.activeSince,
    limit,
    offset,
  );
  return { runners: rows, total: counted?.total ?? 0 };
}

const registrationTokens = defineTable("forge_action_registration_tokens", {
  id: generated(id<RegistrationTokenId>()),
  level: text(),
  isActive: flag(),
  /** Undefined once it is invalid. */
  sealedToken: optional(text()),
  tokenHash: unread(text()),
  createdAt: unread(now()),
});
/** A token that runners register with, as it is stored. */
export type RegistrationToken = RecordOf<typeof registrationTokens>;

export async function findActiveToken(
  db: Queries,
  level: string,
): Promise<RegistrationToken | undefined> {
  return registrationTokens.find(db, { level, isActive: true });
}

export async function findTokenByHash(
  db: Queries,
  hash: string,
): Promise<RegistrationToken | undefined> {
  return registrationTokens.find(db, { tokenHash: hash });
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
  await registrationTokens.update(
    tx,
    { level: token.level, isActive: true },
    { isActive: false, sealedToken: undefined },
  );
  const row = await registrationTokens.insert(tx, {
    level: token.level,
    tokenHash: token.hash,
    isActive: true,
  });
  await registrationTokens.update(tx, { id: row.id }, { sealedToken: token.seal(row.id) });
}
