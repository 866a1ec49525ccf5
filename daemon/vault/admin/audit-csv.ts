import type { Queries } from "../../../storage/engine/database.ts";
import {
  type AuditFilter,
  type AuditRow,
  listAuditAfter,
} from "../../../storage/tables/vault/audit.ts";

const BATCH = 1_000;

/** Yields audit records as CSV (RFC 4180), oldest first: the header line, then batches of lines. */
export async function* toAuditCsv(db: Queries, filter: AuditFilter): AsyncGenerator<string> {
  yield auditCsvHead;
  let last: AuditRow | undefined;
  do {
    const records = await listAuditAfter(db, filter, last, BATCH);
    last = records.at(-1);
    if (last !== undefined) yield records.map(toAuditCsvLine).join("");
  } while (last !== undefined);
}

const auditCsvHead = toCsvLine([
  "id",
  "created_at",
  "event_type",
  "user_id",
  "user_handle",
  "user_email",
  "actor_id",
  "actor_handle",
  "resource_id",
  "ip_address",
  "metadata",
]);

/** The metadata is JSON text. */
function toAuditCsvLine(record: AuditRow): string {
  return toCsvLine([
    String(record.id),
    new Date(record.createdAt).toISOString(),
    record.eventType,
    record.userId,
    record.userHandle,
    record.userEmail,
    record.actorId,
    record.actorHandle,
    record.resourceId,
    record.ipAddress,
    record.metadata,
  ]);
}

function toCsvLine(cells: readonly (string | undefined)[]): string {
  return `${cells.map((cell) => toCell(cell ?? "")).join(",")}\r\n`;
}

/** Prefixes text that a spreadsheet would run as a formula with an apostrophe (vault decisions, Administration). */
function toCell(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
