import type { Queries } from "../../engine/database.ts";
import { integer, text } from "../columns.ts";
import { defineTable } from "../table.ts";

/** Facts about this instance. */
const instance = defineTable("instance", { name: text(), value: text(), updatedAt: integer() });

/** Returns the value of a fact; undefined when it was never stored. */
export async function findInstanceValue(db: Queries, name: string): Promise<string | undefined> {
  return (await instance.find(db, { name }))?.value;
}

/** Stores or replaces a fact. `now` is in epoch milliseconds. */
export async function putInstanceValue(
  db: Queries,
  name: string,
  value: string,
  now: number,
): Promise<void> {
  await instance.upsert(
    db,
    { name, value, updatedAt: now },
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
  );
}

/** Stores a fact unless it exists already, and returns the stored value. */
export async function claimInstanceValue(
  db: Queries,
  name: string,
  value: string,
  now: number,
): Promise<string> {
  const stored = await instance.upsert(
    db,
    { name, value, updatedAt: now },
    "ON CONFLICT (name) DO UPDATE SET value = instance.value",
  );
  return stored?.value ?? value;
}
