import type { Row, Transaction } from "../../../engine/database.ts";
import type { SecretId } from "../ids.ts";
import { type ActionLevel, fromLevelName, toLevelName } from "./levels.ts";
import { createNamedRows, type NamedRows } from "./named-rows.ts";

/** A secret of workflows. Times are epoch milliseconds. */
export interface ActionSecret extends ActionLevel {
  readonly id: SecretId;
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
  seal: (id: SecretId) => string,
): Promise<void> {
  const row = await tx.get<{ id: SecretId }>(
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

/** Replaces the changeable columns of a secret. */
export async function updateSecret(
  tx: Transaction,
  id: SecretId,
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

interface SecretRow extends Row {
  id: SecretId;
  level: string;
  name: string;
  description: string;
  sealed_value: string;
  created_at: number;
}

/** Finds, lists and deletes secrets by level and name. */
export const secretRows: NamedRows<ActionSecret> = createNamedRows<SecretRow, ActionSecret>({
  name: "forge_action_secrets",
  columns: "id, level, name, description, sealed_value, created_at",
  toRecord: toSecret,
});

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
