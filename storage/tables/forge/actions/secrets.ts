import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import { type ActionLevel, fromLevelName, toLevelName } from "./levels.ts";

/** A secret of workflows. Times are epoch milliseconds. */
export interface ActionSecret extends ActionLevel {
  readonly id: number;
  /** In upper case. */
  readonly name: string;
  readonly description: string;
  /** Sealed with the id of the row as the context. */
  readonly sealedValue: string;
  readonly createdAt: number;
}

/** Adds a secret. `seal` returns the sealed value for its id. Throws `conflict` when its level has one of the name. */
export async function insertSecret(
  tx: Transaction,
  level: ActionLevel,
  secret: Pick<ActionSecret, "name" | "description">,
  seal: (id: number) => string,
): Promise<void> {
  const row = await tx.get<{ id: number }>(
    `INSERT INTO forge_action_secrets (level, owner_id, repository_id, name, description, sealed_value, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, '', ?, ?) RETURNING id`,
    toLevelName(level),
    level.ownerId ?? null,
    level.repositoryId ?? null,
    secret.name,
    secret.description,
    tx.now,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the secret returned no row");
  await tx.run(
    "UPDATE forge_action_secrets SET sealed_value = ? WHERE id = ?",
    seal(row.id),
    row.id,
  );
}

/** Replaces what can change of a secret. */
export async function updateSecret(
  tx: Transaction,
  id: number,
  changes: Pick<ActionSecret, "description" | "sealedValue">,
): Promise<void> {
  await tx.run(
    "UPDATE forge_action_secrets SET description = ?, sealed_value = ?, updated_at = ? WHERE id = ?",
    changes.description,
    changes.sealedValue,
    tx.now,
    id,
  );
}

/** Deletes a secret of a level by name. Returns whether it existed. */
export async function deleteSecret(
  db: Queries,
  level: ActionLevel,
  name: string,
): Promise<boolean> {
  const { changes } = await db.run(
    "DELETE FROM forge_action_secrets WHERE level = ? AND name = ?",
    toLevelName(level),
    name,
  );
  return changes > 0;
}

export async function findSecret(
  db: Queries,
  level: ActionLevel,
  name: string,
): Promise<ActionSecret | undefined> {
  const row = await db.get<SecretRow>(
    `SELECT ${columns} FROM forge_action_secrets WHERE level = ? AND name = ?`,
    toLevelName(level),
    name,
  );
  return row && toSecret(row);
}

/** Returns a page of the secrets of a level by name, and the count of all. */
export async function listSecrets(
  db: Queries,
  level: ActionLevel,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly secrets: readonly ActionSecret[]; readonly total: number }> {
  const name = toLevelName(level);
  const counted = await db.get<{ total: number }>(
    "SELECT COUNT(*) AS total FROM forge_action_secrets WHERE level = ?",
    name,
  );
  const rows = await db.all<SecretRow>(
    `SELECT ${columns} FROM forge_action_secrets WHERE level = ? ORDER BY name LIMIT ? OFFSET ?`,
    name,
    limit,
    offset,
  );
  return { secrets: rows.map(toSecret), total: counted?.total ?? 0 };
}

/** Lists the secrets of several levels, those of the first level first. */
export async function listSecretsOfLevels(
  db: Queries,
  levels: readonly ActionLevel[],
): Promise<ActionSecret[]> {
  const found: ActionSecret[] = [];
  for (const level of levels) {
    const rows = await db.all<SecretRow>(
      `SELECT ${columns} FROM forge_action_secrets WHERE level = ? ORDER BY name`,
      toLevelName(level),
    );
    found.push(...rows.map(toSecret));
  }
  return found;
}

interface SecretRow extends Row {
  id: number;
  level: string;
  name: string;
  description: string;
  sealed_value: string;
  created_at: number;
}

const columns = "id, level, name, description, sealed_value, created_at";

function toSecret(row: SecretRow): ActionSecret {
  return {
    ...fromLevelName(row.level),
    id: row.id,
    name: row.name,
    description: row.description,
    sealedValue: row.sealed_value,
    createdAt: row.created_at,
  };
}
