import type { Queries } from "../../../storage/engine/database.ts";
import {
  type AuditFilter,
  type AuditRecord,
  listAudit,
} from "../../../storage/tables/vault/audit.ts";
import { findVaultUserByHandle } from "../../../storage/tables/vault/users.ts";
import type { PageRequest } from "../page.ts";
import { toAuditCsv } from "./audit-csv.ts";

/** What narrows the audit trail. Times are epoch milliseconds, `from` included and `to` not. */
export interface AuditConditions {
  /** Of the user whom a record is about. Records of a handle that nobody has are none. */
  readonly userHandle?: string | undefined;
  /** The part of the event type before its first dot. */
  readonly eventPrefix?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Reading the audit trail. */
export interface AuditTrail {
  /** One page, newest first. */
  list(
    conditions: AuditConditions,
    page: PageRequest,
  ): Promise<{ readonly records: readonly AuditRecord[]; readonly total: number }>;
  /**
   * The records that there are by now as CSV, oldest first. Read as they are taken: however many there are, they need the
   * room of one batch.
   */
  exportCsv(conditions: AuditConditions): Promise<AsyncIterable<string>>;
}

export function createAuditTrail({
  db,
  clock,
}: {
  readonly db: Queries;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}): AuditTrail {
  return {
    async list(conditions, { page, perPage }) {
      const filter = await toFilter(conditions);
      if (filter === undefined) return { records: [], total: 0 };
      return listAudit(db, filter, { limit: perPage, offset: (page - 1) * perPage });
    },

    async exportCsv(conditions) {
      const filter = await toFilter(conditions);
      const now = clock();
      // Else an export would follow what is written while it is read, itself without end.
      const to = Math.min(filter?.to ?? now + 1, now + 1);
      return toAuditCsv(db, filter === undefined ? { to: 0 } : { ...filter, to });
    },
  };

  /** Undefined when nobody has the handle. */
  async function toFilter({
    userHandle,
    ...filter
  }: AuditConditions): Promise<AuditFilter | undefined> {
    if (userHandle === undefined) return filter;
    const user = await findVaultUserByHandle(db, userHandle);
    return user && { ...filter, userId: user.id };
  }
}
