import type { Queries } from "../../../storage/engine/database.ts";
import {
  type AuditFilter,
  type AuditRecord,
  listAudit,
} from "../../../storage/tables/vault/audit.ts";
import { findVaultUserByHandle } from "../../../storage/tables/vault/users.ts";
import type { PageRequest } from "../page.ts";
import { toAuditCsv } from "./audit-csv.ts";

/** The filters of the audit trail. Times are epoch milliseconds, `from` included and `to` excluded. */
export interface AuditConditions {
  /** The handle of the user whom a record is about. An unknown handle matches no record. */
  readonly userHandle?: string | undefined;
  /** The part of the event type before its first dot. */
  readonly eventPrefix?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Reads the audit trail. */
export function createAuditTrail({
  db,
  clock,
}: {
  readonly db: Queries;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}) {
  return {
    /** Returns one page, newest first. */
    async list(
      conditions: AuditConditions,
      { page, perPage }: PageRequest,
    ): Promise<{ readonly records: readonly AuditRecord[]; readonly total: number }> {
      const filter = await toFilter(conditions);
      if (filter === undefined) return { records: [], total: 0 };
      return listAudit(db, filter, { limit: perPage, offset: (page - 1) * perPage });
    },

    /**
     * Returns the existing records as CSV, oldest first. Reads batches on demand, so that the memory stays bounded.
     */
    async exportCsv(conditions: AuditConditions): Promise<AsyncIterable<string>> {
      const filter = await toFilter(conditions);
      const now = clock();
      // Without this limit an export would never end, because it would follow new records.
      const to = Math.min(filter?.to ?? now + 1, now + 1);
      return toAuditCsv(db, filter === undefined ? { to: 0 } : { ...filter, to });
    },
  };

  /** Returns undefined for an unknown handle. */
  async function toFilter({
    userHandle,
    ...filter
  }: AuditConditions): Promise<AuditFilter | undefined> {
    if (userHandle === undefined) return filter;
    const user = await findVaultUserByHandle(db, userHandle);
    return user && { ...filter, userId: user.id };
  }
}
