import type { Transaction } from "../../../engine/database.ts";
import { generated, id, now, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { VariableId } from "../ids.ts";
import { type ActionLevel, levelColumns, toLevelName } from "./levels.ts";
import { createNamedRows, type NamedRows } from "./named-rows.ts";

const variables = defineTable("forge_action_variables", {
  ...levelColumns,
  id: generated(id<VariableId>()),
  /** In upper case. */
  name: text(),
  description: text(),
  /** In plain. */
  value: text(),
  createdAt: now(),
  updatedAt: unread(now()),
});
/** A variable of workflows. Times are epoch milliseconds. */
export type ActionVariable = RecordOf<typeof variables>;

/** Adds a variable. Throws `conflict` when its level has one of the name. */
export async function insertVariable(
  tx: Transaction,
  level: ActionLevel,
  variable: Pick<ActionVariable, "name" | "description" | "value">,
): Promise<void> {
  await variables.insert(tx, { ...level, ...variable, level: toLevelName(level) });
}

/** Replaces the changeable columns of a variable. Throws `conflict` when its level has another one of the name. */
export async function updateVariable(
  tx: Transaction,
  id: VariableId,
  { name, description, value }: Pick<ActionVariable, "name" | "description" | "value">,
): Promise<void> {
  await variables.update(tx, { id }, { name, description, value, updatedAt: tx.now });
}

/** Finds, lists and deletes variables by level and name. */
export const variableRows: NamedRows<ActionVariable> = createNamedRows(variables, {
  table: "forge_action_variables",
  value: "value",
});
