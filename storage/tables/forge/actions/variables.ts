import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import { type ActionLevel, fromLevelName, toLevelName } from "./levels.ts";

/** A variable of workflows. Times are epoch milliseconds. */
export interface ActionVariable extends ActionLevel {
  readonly id: number;
  /** In upper case. */
  readonly name: string;
  readonly description: string;
  /** In plain. */
  readonly value: string;
  readonly createdAt: number;
}

/** Adds a variable. Throws `conflict` when its level has one of the name. */
export async function insertVariable(
  tx: Transaction,
  level: ActionLevel,
  variable: Pick<ActionVariable, "name" | "description" | "value">,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_action_variables (level, owner_id, repository_id, name, description, value, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    toLevelName(level),
    level.ownerId ?? null,
    level.repositoryId ?? null,
    variable.name,
    variable.description,
    variable.value,
    tx.now,
    tx.now,
  );
}

/** Replaces what can change of a variable. Throws `conflict` when its level has another one of the name. */
export async function updateVariable(
  tx: Transaction,
  id: number,
  changes: Pick<ActionVariable, "name" | "description" | "value">,
): Promise<void> {
  await tx.run(
    "UPDATE forge_action_variables SET name = ?, description = ?, value = ?, updated_at = ? WHERE id = ?",
    changes.name,
    changes.description,
    changes.value,
    tx.now,
    id,
  );
}

/** Deletes a variable of a level by name. Returns whether it existed. */
export async function deleteVariable(
  db: Queries,
  level: ActionLevel,
  name: string,
): Promise<boolean> {
  const { changes } = await db.run(
    "DELETE FROM forge_action_variables WHERE level = ? AND name = ?",
    toLevelName(level),
    name,
  );
  return changes > 0;
}

export async function findVariable(
  db: Queries,
  level: ActionLevel,
  name: string,
): Promise<ActionVariable | undefined> {
  const row = await db.get<VariableRow>(
    `SELECT ${columns} FROM forge_action_variables WHERE level = ? AND name = ?`,
    toLevelName(level),
    name,
  );
  return row && toVariable(row);
}

/** Returns a page of the variables of a level by name, and the count of all. */
export async function listVariables(
  db: Queries,
  level: ActionLevel,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly variables: readonly ActionVariable[]; readonly total: number }> {
  const name = toLevelName(level);
  const counted = await db.get<{ total: number }>(
    "SELECT COUNT(*) AS total FROM forge_action_variables WHERE level = ?",
    name,
  );
  const rows = await db.all<VariableRow>(
    `SELECT ${columns} FROM forge_action_variables WHERE level = ? ORDER BY name LIMIT ? OFFSET ?`,
    name,
    limit,
    offset,
  );
  return { variables: rows.map(toVariable), total: counted?.total ?? 0 };
}

/** Lists the variables of several levels, those of the first level first. */
export async function listVariablesOfLevels(
  db: Queries,
  levels: readonly ActionLevel[],
): Promise<ActionVariable[]> {
  const found: ActionVariable[] = [];
  for (const level of levels) {
    const rows = await db.all<VariableRow>(
      `SELECT ${columns} FROM forge_action_variables WHERE level = ? ORDER BY name`,
      toLevelName(level),
    );
    found.push(...rows.map(toVariable));
  }
  return found;
}

interface VariableRow extends Row {
  id: number;
  level: string;
  name: string;
  description: string;
  value: string;
  created_at: number;
}

const columns = "id, level, name, description, value, created_at";

function toVariable(row: VariableRow): ActionVariable {
  return {
    ...fromLevelName(row.level),
    id: row.id,
    name: row.name,
    description: row.description,
    value: row.value,
    createdAt: row.created_at,
  };
}
