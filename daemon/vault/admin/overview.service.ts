import type { Queries } from "../../../storage/engine/database.ts";
import { type AuditRecord, listAudit } from "../../../storage/tables/vault/audit.ts";
import { sumUsedBytes } from "../../../storage/tables/vault/quotas.ts";
import { countVaultUsers } from "../../../storage/tables/vault/users.ts";

/** The whole vault at a glance (vault API, Administration). */
export interface Overview {
  view(): Promise<{
    readonly users: number;
    /** In the vault's own object storage. */
    readonly storageBytes: number;
    /** The newest ten. */
    readonly records: readonly AuditRecord[];
  }>;
}

const RECORDS = 10;

export function createOverview({ db }: { readonly db: Queries }): Overview {
  return {
    async view() {
      const [users, storageBytes, { records }] = await Promise.all([
        countVaultUsers(db),
        sumUsedBytes(db),
        listAudit(db, {}, { limit: RECORDS, offset: 0 }),
      ]);
      return { users, storageBytes, records };
    },
  };
}
