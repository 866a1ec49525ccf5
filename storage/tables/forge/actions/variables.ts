import type { Row, Transaction } from "../../../engine/database.ts";
import type { VariableId } from "../ids.ts";
import { type ActionLevel, fromLevelName, toLevelName } from "./levels.ts";
import { createNamedRows, type NamedRows } from "./named-rows.ts";

/** A variable of workflows. Times are epoch milliseconds. */
export interface ActionVariable extends ActionLevel {
  readonly id: VariableId;
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

/** Replaces the changeable columns of a variable. Throws `conflict` when its level has another one of the name. */
export async function updateVariable(
  tx: Transaction,
  id: VariableId,
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

interface VariableRow extends Row {
  id: VariableId;
  level: string;
  name: string;
  description: string;
  value: string;
  created_at: number;
}

/** Finds, lists and deletes variables by level and name. */
export const variableRows: NamedRows<ActionVariable> = createNamedRows<VariableRow, ActionVariable>(
  {
    name: "forge_action_variables",
    columns: "id, level, name, description, value, created_at",
    toRecord: toVariable,
  },
);

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
