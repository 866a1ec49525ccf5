import type { Transaction } from "../../../engine/database.ts";
import { generated, id, now, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { SecretId } from "../ids.ts";
import { type ActionLevel, levelColumns, toLevelName } from "./levels.ts";
import { createNamedRows, type NamedRows } from "./named-rows.ts";

const secrets = defineTable("forge_action_secrets", {
  ...levelColumns,
  id: generated(id<SecretId>()),
  /** In upper case. */
  name: text(),
  description: text(),
  /** Sealed with the id of the row as the context. */
  sealedValue: text(),
  createdAt: now(),
  updatedAt: unread(now()),
});
/** A secret of workflows. Times are epoch milliseconds. */
export type ActionSecret = RecordOf<typeof secrets>;

/** Adds a secret. `seal` returns the sealed value for its id. Throws `conflict` when its level has one of the name. */
export async function insertSecret(
  tx: Transaction,
  level: ActionLevel,
  secret: Pick<ActionSecret, "name" | "description">,
  seal: (id: SecretId) => string,
): Promise<void> {
  const row = { ...level, ...secret, level: toLevelName(level), sealedValue: "" };
  const { id } = await secrets.insert(tx, row);
  await secrets.update(tx, { id }, { sealedValue: seal(id) });
}

/** Replaces the changeable columns of a secret. */
export async function updateSecret(
  tx: Transaction,
  id: SecretId,
  { description, sealedValue }: Pick<ActionSecret, "description" | "sealedValue">,
): Promise<void> {
  await secrets.update(tx, { id }, { description, sealedValue, updatedAt: tx.now });
}

/** Finds, lists and deletes secrets by level and name. */
export const secretRows: NamedRows<ActionSecret> = createNamedRows(secrets, {
  table: "forge_action_secrets",
  value: "sealed_value",
});
