import { z } from "zod";
import type { Queries, Row, SqlValue, Transaction } from "../../engine/database.ts";
import { parseColumn } from "../../engine/json-column.ts";
import { appendToAuditChain, type NewAuditRecord } from "./audit-chain.ts";
import type { AccountId } from "./ids.ts";

const metadataSchema = z.record(z.string(), z.unknown());

/** A stored record with the names of its users, as far as their accounts exist. */
export interface AuditRecord extends NewAuditRecord {
  readonly id: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly userHandle: string | undefined;
  readonly userEmail: string | undefined;
  readonly actorHandle: string | undefined;
  readonly createdAt: number;
}

/** A stored record as it is exported: the metadata is the stored JSON text. */
export type AuditRow = Omit<AuditRecord, "metadata"> & { readonly metadata: string };

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
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly records: AuditRecord[]; readonly total: number }> {
  const { parts, values } = toConditions(filter);
  const where = toWhere(parts);
  // The page is chosen in the index first, so that a deep one joins no more rows than it shows.
  const rows = await db.all(
    `SELECT ${COLUMNS} FROM (
       SELECT id FROM vault_audit ${where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?
     ) AS chosen
     JOIN vault_audit AS audit ON audit.id = chosen.id ${NAMES}
     ORDER BY audit.created_at DESC, audit.id DESC`,
    ...values,
    page.limit,
    page.offset,
  );
  const count = await db.get<{ total: number }>(
    `SELECT count(*) AS total FROM vault_audit ${where}`,
    ...values,
  );
  return { records: rows.map(toRecord), total: Number(count?.total ?? 0) };
}

/** Returns the records after the given one, oldest first, in batches that bound the memory. */
export async function listAuditAfter(
  db: Queries,
  filter: AuditFilter,
  after: Pick<AuditRecord, "createdAt" | "id"> | undefined,
  limit: number,
): Promise<AuditRow[]> {
  const { parts, values } = toConditions(filter);
  if (after !== undefined) {
    parts.push("(created_at, id) > (?, ?)");
    values.push(after.createdAt, after.id);
  }
  const rows = await db.all(
    `SELECT ${COLUMNS} FROM (
       SELECT id FROM vault_audit ${toWhere(parts)} ORDER BY created_at, id LIMIT ?
     ) AS chosen
     JOIN vault_audit AS audit ON audit.id = chosen.id ${NAMES}
     ORDER BY audit.created_at, audit.id`,
    ...values,
    limit,
  );
  return rows.map(toAuditRow);
}

/** Returns the time of the oldest record in epoch milliseconds; undefined without records. */
export async function findFirstAuditTime(db: Queries): Promise<number | undefined> {
  const row = await db.get<{ created_at: number }>(
    "SELECT created_at FROM vault_audit ORDER BY created_at LIMIT 1",
  );
  return row?.created_at;
}

const NAMES = `LEFT JOIN vault_users AS subject ON subject.id = audit.user_id
  LEFT JOIN vault_users AS actor ON actor.id = audit.actor_id`;

const COLUMNS = `audit.id, audit.event_type, audit.user_id, audit.actor_id, audit.resource_id, audit.ip_address,
  audit.metadata, audit.created_at, subject.handle AS user_handle, subject.email AS user_email,
  actor.handle AS actor_handle`;

function toRecord(row: Row): AuditRecord {
  const { metadata, ...record } = toAuditRow(row);
  return { ...record, metadata: parseColumn(metadataSchema, metadata, "vault_audit.metadata") };
}

function toAuditRow(row: Row): AuditRow {
  return {
    id: row["id"] as number,
    eventType: row["event_type"] as string,
    userId: (row["user_id"] ?? undefined) as AccountId | undefined,
    actorId: (row["actor_id"] ?? undefined) as string | undefined,
    resourceId: (row["resource_id"] ?? undefined) as string | undefined,
    ipAddress: (row["ip_address"] ?? undefined) as string | undefined,
    metadata: row["metadata"] as string,
    createdAt: row["created_at"] as number,
    userHandle: (row["user_handle"] ?? undefined) as string | undefined,
    userEmail: (row["user_email"] ?? undefined) as string | undefined,
    actorHandle: (row["actor_handle"] ?? undefined) as string | undefined,
  };
}

function toWhere(parts: readonly string[]): string {
  return parts.length === 0 ? "" : `WHERE ${parts.join(" AND ")}`;
}

function toConditions(filter: AuditFilter): { parts: string[]; values: SqlValue[] } {
  const parts: string[] = [];
  const values: SqlValue[] = [];
  if (filter.userId !== undefined) {
    parts.push("user_id = ?");
    values.push(filter.userId);
  }
  if (filter.documentId !== undefined) {
    // Ids are UUIDs: no character of one is special in a pattern.
    parts.push("(resource_id = ? OR metadata LIKE ?)");
    values.push(filter.documentId, `%"document_id":"${filter.documentId}"%`);
  }
  if (filter.eventPrefix !== undefined) {
    // `.` and `/` are neighbours, so this range is the prefix followed by a dot.
    parts.push("event_type >= ? AND event_type < ?");
    values.push(`${filter.eventPrefix}.`, `${filter.eventPrefix}/`);
  }
  if (filter.from !== undefined) {
    parts.push("created_at >= ?");
    values.push(filter.from);
  }
  if (filter.to !== undefined) {
    parts.push("created_at < ?");
    values.push(filter.to);
  }
  return { parts, values };
}
