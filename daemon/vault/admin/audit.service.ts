import type { Queries } from "../../../storage/engine/database.ts";
import { type AuditRecord, listAudit } from "../../../storage/tables/vault/audit.ts";
import { findVaultUserByHandle } from "../../../storage/tables/vault/users.ts";
import type { PageRequest } from "./users.service.ts";

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
}

export function createAuditTrail({ db }: { readonly db: Queries }): AuditTrail {
  return {
    async list({ userHandle, ...filter }, { page, perPage }) {
      const user =
        userHandle === undefined ? undefined : await findVaultUserByHandle(db, userHandle);
      if (userHandle !== undefined && user === undefined) return { records: [], total: 0 };
      return listAudit(
        db,
        { ...filter, userId: user?.id },
        { limit: perPage, offset: (page - 1) * perPage },
      );
    },
  };
}
