import type { Queries } from "../../engine/database.ts";

/** Returns the value of a fact about this instance; undefined when it was never stored. */
export async function findInstanceValue(db: Queries, name: string): Promise<string | undefined> {
  const row = await db.get<{ value: string }>("SELECT value FROM instance WHERE name = ?", name);
  return row?.value;
}

/** Stores or replaces a fact. `now` is in epoch milliseconds. */
export async function putInstanceValue(
  db: Queries,
  name: string,
  value: string,
  now: number,
): Promise<void> {
  await db.run(
    `INSERT INTO instance (name, value, updated_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
    name,
    value,
    now,
  );
}

/** Stores a fact unless it exists already, and returns the stored value. */
export async function claimInstanceValue(
  db: Queries,
  name: string,
  value: string,
  now: number,
): Promise<string> {
  const row = await db.get<{ value: string }>(
    `INSERT INTO instance (name, value, updated_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET value = instance.value
     RETURNING value`,
    name,
    value,
    now,
  );
  return row?.value ?? value;
}
