// The chain of hashes over the audit trail: each record has the SHA-256 of its content and of the hash before it, and one row
// has both ends. A hash that is kept elsewhere proves that no record up to it was changed, added or removed since.
import { createHash } from "node:crypto";
import type { Queries, SqlValue, Transaction } from "../../engine/database.ts";
import { id, integer, nowUnlessGiven, text } from "../columns.ts";
import { defineTable, type Page, type RecordOf, type Window } from "../table.ts";
import type { AccountId } from "./ids.ts";

/** The content of an audit record. Metadata never contains tokens, provider URLs, file bytes or document text. */
export interface NewAuditRecord {
  readonly eventType: string;
  /** The user whom the record is about. */
  readonly userId?: AccountId | undefined;
  /** The user who acted. */
  readonly actorId?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly ipAddress?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

const chains = defineTable("vault_audit_chain", {
  id: id(),
  /** The position of the last record; 0 before the first one. */
  position: integer(),
  hash: text(),
  /** The last record that retention removed. */
  startPosition: integer(),
  startHash: text(),
  /** The records up to this id are from before the chain. */
  unchainedId: integer(),
});
/** Both ends of the chain. */
export type AuditChain = RecordOf<typeof chains>;

const heads = defineTable("vault_audit_heads", {
  /** `YYYY-MM-DD` in UTC. */
  day: text(),
  position: integer(),
  hash: text(),
  createdAt: nowUnlessGiven(),
});
/** The last record of the chain when a day ended. */
export type AuditHead = RecordOf<typeof heads>;

/** What a hash covers, as stored. */
export interface ChainedRecord {
  readonly id: number;
  readonly position: number;
  readonly hash: string;
  readonly content: readonly SqlValue[];
}

/**
 * Returns the hash of a record: SHA-256 of a JSON array with the hash before it, its position and its columns in this
 * order: event type, user, actor, resource, address, metadata as stored text, time in epoch milliseconds.
 */
export function toAuditHash(
  before: string,
  position: number,
  content: readonly SqlValue[],
): string {
  return createHash("sha256")
    .update(JSON.stringify([before, position, ...content]))
    .digest("hex");
}

/**
 * Adds records at the end of the chain. The first statement locks its end, so that of two transactions, on whatever daemon,
 * the later one continues the chain of the earlier one, or is retried by the engine.
 */
export async function appendToAuditChain(
  tx: Transaction,
  records: readonly NewAuditRecord[],
): Promise<void> {
  if (tx.dialect === "postgres") {
    for (const record of records) await appendOnServer(tx, toContent(record, tx.now));
    return;
  }
  const end = await tx.get<{ position: number; hash: string }>(
    "UPDATE vault_audit_chain SET position = position + ? WHERE id = 1 RETURNING position, hash",
    records.length,
  );
  if (end === undefined) throw noChain();
  let { hash } = end;
  let position = end.position - records.length;
  for (const record of records) {
    position += 1;
    const content = toContent(record, tx.now);
    hash = toAuditHash(hash, position, content);
    await tx.run(
      `INSERT INTO vault_audit (${CONTENT.join(", ")}, position, hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...content,
      position,
      hash,
    );
  }
  await tx.run("UPDATE vault_audit_chain SET hash = ? WHERE id = 1", hash);
}

/**
 * Adds a record in one statement, which also computes `toAuditHash`: the end of the chain, for which all writers of all daemons
 * wait, is locked for one round trip before the commit.
 */
async function appendOnServer(tx: Transaction, content: readonly SqlValue[]): Promise<void> {
  // The members of the hashed array after the position.
  const members = JSON.stringify(content).slice(1);
  const { changes } = await tx.run(
    `WITH appended AS (
       UPDATE vault_audit_chain SET
         position = position + 1,
         hash = encode(sha256(convert_to('["' || hash || '",' || (position + 1) || ',' || ?, 'UTF8')), 'hex')
       WHERE id = 1 RETURNING position, hash)
     INSERT INTO vault_audit (${CONTENT.join(", ")}, position, hash)
     SELECT ?, ?, ?, ?, ?, ?, ?, position, hash FROM appended`,
    members,
    ...content,
  );
  if (changes === 0) throw noChain();
}

const noChain = (): Error => new Error("the audit trail has no chain");

function toContent(record: NewAuditRecord, time: number): SqlValue[] {
  return [
    record.eventType,
    record.userId ?? null,
    record.actorId ?? null,
    record.resourceId ?? null,
    record.ipAddress ?? null,
    JSON.stringify(record.metadata ?? {}),
    time,
  ];
}

/** Returns both ends of the chain; undefined if their row was deleted. */
export const findAuditChain = (db: Queries): Promise<AuditChain | undefined> =>
  chains.find(db, { id: 1 });

/** Returns the records from `after` to `until`, by position. */
export async function listChainedRecords(
  db: Queries,
  range: { readonly after: number; readonly until: number; readonly limit: number },
): Promise<ChainedRecord[]> {
  const rows = await db.all<Record<string, SqlValue>>(
    `SELECT id, position, hash, event_type, user_id, actor_id, resource_id, ip_address, metadata, created_at
     FROM vault_audit WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`,
    range.after,
    range.until,
    range.limit,
  );
  return rows.map((row) => ({
    id: row["id"] as number,
    position: row["position"] as number,
    hash: String(row["hash"]),
    content: CONTENT.map((name) => row[name] ?? null),
  }));
}

const CONTENT = [
  "event_type",
  "user_id",
  "actor_id",
  "resource_id",
  "ip_address",
  "metadata",
  "created_at",
] as const;

/** Returns how many records are from before the chain, and the first later one that is not part of it. */
export async function findUnchained(
  db: Queries,
  unchainedId: number,
): Promise<{ readonly count: number; readonly strayId: number | undefined }> {
  const row = await db.get<{ count: number; stray: number | null }>(
    `SELECT count(*) AS count, min(CASE WHEN id > ? THEN id END) AS stray FROM vault_audit WHERE position IS NULL`,
    unchainedId,
  );
  return {
    count: Number(row?.count ?? 0),
    strayId: row?.stray == null ? undefined : Number(row.stray),
  };
}

/** Records the end of the chain as the head of a day, once. Returns it; undefined if the day has one already, or the chain is empty. */
export async function insertAuditHead(
  tx: Transaction,
  day: string,
): Promise<AuditHead | undefined> {
  const chain = await findAuditChain(tx);
  if (chain === undefined || chain.position === 0) return undefined;
  const { position, hash } = chain;
  return heads.upsert(tx, { day, position, hash }, "ON CONFLICT (day) DO NOTHING");
}

/** Returns one page of the daily heads, newest first. */
export const listAuditHeads = (db: Queries, window: Window): Promise<Page<AuditHead>> =>
  heads.page(db, {}, { ...window, order: "day DESC" });

/** Returns the head with a hash. */
export const findAuditHead = (db: Queries, hash: string): Promise<AuditHead | undefined> =>
  heads.find(db, { hash });

/**
 * Deletes the oldest records as far as they were written before `time`, up to `limit` of the chain and as many from before it,
 * and moves the start of the chain after them. Returns how many it deleted.
 */
export async function deleteAuditBefore(
  tx: Transaction,
  time: number,
  limit: number,
): Promise<number> {
  const unchained = await tx.run(
    `DELETE FROM vault_audit WHERE id IN
       (SELECT id FROM vault_audit WHERE position IS NULL AND created_at < ? ORDER BY id LIMIT ?)`,
    time,
    limit,
  );
  const chain = await findAuditChain(tx);
  if (chain === undefined) return unchained.changes;
  const range = { after: chain.startPosition, until: chain.position, limit };
  let { startPosition, startHash } = chain;
  for (const { position, hash, content } of await listChainedRecords(tx, range)) {
    const isOld = (content.at(-1) as number) < time;
    // A record that does not fit stays as the evidence, with all later ones.
    const fits =
      position === startPosition + 1 && hash === toAuditHash(startHash, position, content);
    if (!isOld || !fits) break;
    startPosition = position;
    startHash = hash;
  }
  const removed = await tx.run("DELETE FROM vault_audit WHERE position <= ?", startPosition);
  await chains.update(tx, { id: 1 }, { startPosition, startHash });
  return unchained.changes + removed.changes;
}
