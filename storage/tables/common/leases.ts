import type { Queries } from "../../engine/database.ts";

/** A name that one owner holds until a time. Times are epoch milliseconds. */
export interface Lease {
  readonly name: string;
  readonly owner: string;
  readonly until: number;
}

/** Clocks of several daemons differ by less than this: a lease that ends later comes from a clock that was ahead. */
const CLOCKS_DIFFER_MS = 60_000;

/** Takes a name. False while it is held, by whatever owner. */
export async function takeLease(
  db: Queries,
  { name, owner, until }: Lease,
  now: number,
): Promise<boolean> {
  const { changes } = await db.run(
    `INSERT INTO leases (name, owner, leased_until) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, leased_until = excluded.leased_until
     WHERE leases.leased_until <= ? OR leases.leased_until > ?`,
    name,
    owner,
    until,
    now,
    until + CLOCKS_DIFFER_MS,
  );
  return changes > 0;
}

/** Extends a lease, if the owner still has it. */
export async function renewLease(db: Queries, { name, owner, until }: Lease): Promise<void> {
  await db.run(
    "UPDATE leases SET leased_until = ? WHERE name = ? AND owner = ?",
    until,
    name,
    owner,
  );
}

/** Ends a lease. Idempotent. */
export async function endLease(
  db: Queries,
  { name, owner }: Pick<Lease, "name" | "owner">,
): Promise<void> {
  await db.run("DELETE FROM leases WHERE name = ? AND owner = ?", name, owner);
}

/** Deletes the leases that ended before `now`: those of daemons that died. */
export async function deleteEndedLeases(db: Queries, now: number): Promise<void> {
  await db.run("DELETE FROM leases WHERE leased_until <= ?", now);
}
