import { z } from "zod";
import type { Queries, Transaction } from "../../engine/database.ts";
import { parseColumn } from "../../engine/json-column.ts";
import { generated, integer, joined, now, optional, text, textId } from "../columns.ts";
import { all, raw, sql, type SqlText } from "../condition.ts";
import { defineTable, type RecordOf, type Window } from "../table.ts";
import { appendToAuditChain, type NewAuditRecord } from "./audit-chain.ts";
import type { AccountId } from "./ids.ts";

const metadataSchema = z.record(z.string(), z.unknown());

const NAMES = `LEFT JOIN vault_users AS subject ON subject.id = audit.user_id
  LEFT JOIN vault_users AS actor ON actor.id = audit.actor_id`;

const audit = defineTable(
  "vault_audit AS audit",
  {
    id: generated(integer()),
    eventType: text(),
    userId: optional(textId<AccountId>()),
    actorId: optional(text()),
    resourceId: optional(text()),
    ipAddress: optional(text()),
    /** A JSON object. */
    metadata: text(),
    createdAt: now(),
    userHandle: joined("subject.handle", optional(text())),
    userEmail: joined("subject.email", optional(text())),
    actorHandle: joined("actor.handle", optional(text())),
  },
  NAMES,
);
/** A stored record as it is exported, with the names of its users, as far as their accounts exist. */
export type AuditRow = RecordOf<typeof audit>;

/** A stored record with its metadata. */
export type AuditRecord = Omit<AuditRow, "metadata"> & {
  readonly metadata: Readonly<Record<string, unknown>>;
};

/** The records that open transactions add when they end. */
const waiting = new WeakMap<Transaction, NewAuditRecord[]>();

/**
 * Adds a record to the chain, in the transaction of the change that it describes. All records of a transaction are written at
 * its end: they lock the end of the chain, which all transactions share.
 */
export async function insertAudit(tx: Transaction, record: NewAuditRecord): Promise<void> {
  const records = waiting.get(tx);
  if (records !== undefined) return void records.push(record);
  const first = [record];
  waiting.set(tx, first);
  tx.beforeCommit(() => appendToAuditChain(tx, first));
}

/** Conditions of a list of records; an absent one matches every record. */
export interface AuditFilter {
  readonly userId?: AccountId | undefined;
  /** A document: records about it, its shares and its links. */
  readonly documentId?: string | undefined;
  /** The part of the event type before its first dot. */
  readonly eventPrefix?: string | undefined;
  /** Epoch milliseconds, included. */
  readonly from?: number | undefined;
  /** Epoch milliseconds, excluded. */
  readonly to?: number | undefined;
}

/** Returns one page of records, newest first, and the total count. */
export async function listAudit(
  db: Queries,
  filter: AuditFilter,
  { limit, offset }: Window,
): Promise<{ readonly records: AuditRecord[]; readonly total: number }> {
  const where = toWhere(filter);
  const chosen = sql`${where} ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`;
  const rows = await readChosen(db, chosen, "audit.created_at DESC, audit.id DESC");
  // Without the names, which SQLite would look up for each counted record.
  const count = await db.get<{ total: number }>(
    `SELECT count(*) AS total FROM vault_audit WHERE ${where.sql}`,
    ...where.values,
  );
  return { records: rows.map(toRecord), total: count?.total ?? 0 };
}

/** Returns the records after the given one, oldest first, in batches that bound the memory. */
export function listAuditAfter(
  db: Queries,
  filter: AuditFilter,
  after: Pick<AuditRecord, "createdAt" | "id"> | undefined,
  limit: number,
): Promise<AuditRow[]> {
  const later =
    after === undefined ? raw("1 = 1") : sql`(created_at, id) > (${after.createdAt}, ${after.id})`;
  const chosen = sql`${toWhere(filter)} AND ${later} ORDER BY created_at, id LIMIT ${limit}`;
  return readChosen(db, chosen, "audit.created_at, audit.id");
}

/** Reads a page that is chosen in the index first, so that a deep one joins no more rows than it shows. */
function readChosen(db: Queries, chosen: SqlText, order: string): Promise<AuditRow[]> {
  return audit.readAll(
    db,
    `SELECT ${audit.columns} FROM (SELECT id FROM vault_audit WHERE ${chosen.sql}) AS chosen
     JOIN vault_audit AS audit ON audit.id = chosen.id ${NAMES} ORDER BY ${order}`,
    ...chosen.values,
  );
}

/** Returns the time of the oldest record in epoch milliseconds; undefined without records. */
export async function findFirstAuditTime(db: Queries): Promise<number | undefined> {
  const row = await db.get<{ created_at: number }>(
    "SELECT created_at FROM vault_audit ORDER BY created_at LIMIT 1",
  );
  return row?.created_at;
}

function toRecord({ metadata, ...record }: AuditRow): AuditRecord {
  return { ...record, metadata: parseColumn(metadataSchema, metadata, "vault_audit.metadata") };
}

function toWhere({ userId, documentId, eventPrefix, from, to }: AuditFilter): SqlText {
  const conditions: SqlText[] = [];
  if (userId !== undefined) conditions.push(sql`user_id = ${userId}`);
  // Ids are UUIDs: no character of one is special in a pattern.
  if (documentId !== undefined)
    conditions.push(
      sql`(resource_id = ${documentId} OR metadata LIKE ${`%"document_id":"${documentId}"%`})`,
    );
  // `.` and `/` are neighbours, so this range is the prefix followed by a dot.
  if (eventPrefix !== undefined)
    conditions.push(sql`event_type >= ${`${eventPrefix}.`} AND event_type < ${`${eventPrefix}/`}`);
  if (from !== undefined) conditions.push(sql`created_at >= ${from}`);
  if (to !== undefined) conditions.push(sql`created_at < ${to}`);
  return all(conditions);
}
