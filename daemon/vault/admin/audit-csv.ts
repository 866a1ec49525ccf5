import type { AuditRecord } from "../../../storage/tables/vault/audit.ts";

/** The first line of an audit export. */
export const auditCsvHead = toCsvLine([
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

/** A record as a line of CSV (RFC 4180), with the metadata as JSON text. */
export function toAuditCsvLine(record: AuditRecord): string {
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
    JSON.stringify(record.metadata),
  ]);
}

function toCsvLine(cells: readonly (string | undefined)[]): string {
  return `${cells.map((cell) => toCell(cell ?? "")).join(",")}\r\n`;
}

/** What a spreadsheet would take for a formula begins with an apostrophe (vault decisions, Administration). */
function toCell(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
