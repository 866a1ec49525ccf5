import type { Queries } from "../../engine/database.ts";
import { integer, named, text } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";

const leases = defineTable("leases", {
  name: text(),
  owner: text(),
  until: named("leased_until", integer()),
});
/** A name that one owner holds until a time. Times are epoch milliseconds. */
export type Lease = RecordOf<typeof leases>;

/**
 * Takes a name. False while it is held, by whatever owner.
 * @param abandoned the end of a lease that its owner does not renew: a clock that was ahead may have written it
 */
export async function takeLease(
  db: Queries,
  { name, owner, until }: Lease,
  now: number,
  abandoned?: number,
): Promise<boolean> {
  const { changes } = await db.run(
    `INSERT INTO leases (name, owner, leased_until) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, leased_until = excluded.leased_until
     WHERE leases.leased_until <= ? OR leases.leased_until = ?`,
    name,
    owner,
    until,
    now,
    abandoned ?? null,
  );
  return changes > 0;
}

/** Returns when the lease of a name ends. */
export async function findLeaseEnd(db: Queries, name: string): Promise<number | undefined> {
  const row = await db.get<{ leased_until: number }>(
    "SELECT leased_until FROM leases WHERE name = ?",
    name,
  );
  return row?.leased_until;
}

/** Extends a lease, if the owner still has it. */
export async function renewLease(db: Queries, { name, owner, until }: Lease): Promise<void> {
  await leases.update(db, { name, owner }, { until });
}

/** Ends a lease. Idempotent. */
export async function endLease(
  db: Queries,
  { name, owner }: Pick<Lease, "name" | "owner">,
): Promise<void> {
  await leases.delete(db, { name, owner });
}

/** Deletes the leases that ended before `now`: those of daemons that died. */
export async function deleteEndedLeases(db: Queries, now: number): Promise<void> {
  await leases.delete(db, sql`leased_until <= ${now}`);
}
