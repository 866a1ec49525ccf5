import { Readable } from "node:stream";
import type { z } from "zod";
import type { AuditRecord } from "../../../storage/tables/vault/audit.ts";
import type { VaultUser } from "../../../storage/tables/vault/users.ts";
import type { AuditHead } from "../../../storage/tables/vault/audit-chain.ts";
import type {
  auditEntry,
  auditHead,
  auditVerification,
  dailyExport,
  managedUser,
} from "../../contract/vault/admin.ts";
import type { ChainReport } from "./audit-chain.service.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { toTime, toUser } from "../accounts/accounts.view.ts";
import type { DailyExport, OpenExport } from "./daily-exports.ts";
import type { InvitedUser } from "./users.service.ts";
import type { Overview } from "./overview.service.ts";

/** Converts a user for administrators. */
export function toManagedUser(user: VaultUser): z.output<typeof managedUser> {
  return {
    ...toUser(user),
    is_active: user.isActive,
    password_must_change: user.passwordMustChange,
  };
}

/** Converts an invitation with its link. */
export function toInvitation({ user, isNew, code, link, expiresAt, isMailed }: InvitedUser) {
  const { id, handle, email } = user;
  const expires = toTime(expiresAt);
  return { id, handle, email, created: isNew, code, link, expires_at: expires, mailed: isMailed };
}

/** Converts the server folders that are granted to a user. */
export function toLocalFolders(folders: readonly string[]) {
  return { folders: [...folders] };
}

/** Converts an audit record for the list. */
export function toAuditEntry(record: AuditRecord): z.output<typeof auditEntry> {
  return {
    id: record.id,
    event_type: record.eventType,
    user_id: record.userId ?? null,
    user_handle: record.userHandle ?? null,
    user_email: record.userEmail ?? null,
    actor_id: record.actorId ?? null,
    actor_handle: record.actorHandle ?? null,
    resource_id: record.resourceId ?? null,
    ip_address: record.ipAddress ?? null,
    metadata: record.metadata,
    created_at: toTime(record.createdAt),
  };
}

/** Converts the result of a verification. A given head that is missing is a failure, too. */
export function toChainReport(report: ChainReport): z.output<typeof auditVerification> {
  const { fault, head, ...counts } = report;
  return {
    is_intact: fault === undefined && head !== "missing",
    ...counts,
    head: head ?? null,
    fault:
      fault === undefined
        ? null
        : {
            position: fault.position,
            record_id: fault.recordId ?? null,
            reason: fault.reason,
          },
  };
}

/** Converts a daily head. */
export function toAuditHead(head: AuditHead): z.output<typeof auditHead> {
  return {
    date: head.day,
    position: head.position,
    hash: head.hash,
    created_at: toTime(head.createdAt),
  };
}

/** Returns a streamed CSV response. */
export function toCsvAnswer(lines: AsyncIterable<string>): BytesAnswer {
  return {
    status: 200,
    bytes: {
      size: undefined,
      contentType: CSV,
      etag: undefined,
      lastModified: undefined,
      open: async () => Readable.from(lines, { objectMode: false }),
    },
    headers: toFileHeaders("audit.csv"),
  };
}

/** Returns a daily export as a response. */
export function toDailyExportAnswer(file: OpenExport): BytesAnswer {
  return {
    status: 200,
    bytes: {
      size: file.sizeBytes,
      contentType: CSV,
      etag: undefined,
      lastModified: file.modifiedAt,
      open: async (range) => file.read(range),
      // Closing a file that was only read loses no data, so its errors are ignored.
      release: () => void file.close().catch(() => undefined),
    },
    headers: toFileHeaders(`audit-${file.day}.csv`),
  };
}

/** Converts a daily export for the list. */
export function toDailyExport({ day, sizeBytes }: DailyExport): z.output<typeof dailyExport> {
  return { date: day, size_bytes: sizeBytes };
}

/** Converts the overview. */
export function toOverview(found: Awaited<ReturnType<Overview["view"]>>) {
  return {
    user_count: found.users,
    total_storage_bytes: found.storageBytes,
    doc_status: {
      pending: found.documents.get("pending") ?? 0,
      processing: found.documents.get("processing") ?? 0,
      ready: found.documents.get("ready") ?? 0,
      classification_failed: found.documents.get("classification_failed") ?? 0,
    },
    recent_audit: found.records.map(toAuditEntry),
  };
}

const CSV = "text/csv; charset=utf-8";

function toFileHeaders(name: string) {
  return {
    "Content-Disposition": `attachment; filename="${name}"`,
    "Content-Security-Policy": "sandbox; default-src 'none'",
  };
}
