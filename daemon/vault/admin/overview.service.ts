import type { Queries } from "../../../storage/engine/database.ts";
import { type AuditRecord, listAudit } from "../../../storage/tables/vault/audit.ts";
import {
  countDocumentsByStatus,
  type DocumentStatus,
} from "../../../storage/tables/vault/documents/documents.ts";
import { sumUsedBytes } from "../../../storage/tables/vault/quotas.ts";
import { countVaultUsers } from "../../../storage/tables/vault/users.ts";

export type Overview = ReturnType<typeof createOverview>;

const RECORDS = 10;

/** The overview of the vault. */
export function createOverview({ db }: { readonly db: Queries }) {
  return {
    async view(): Promise<{
      readonly users: number;
      /** In the vault's own object storage. */
      readonly storageBytes: number;
      /** Documents by status; absent states have no documents. */
      readonly documents: ReadonlyMap<DocumentStatus, number>;
      /** The newest ten. */
      readonly records: readonly AuditRecord[];
    }> {
      const [users, storageBytes, documents, { records }] = await Promise.all([
        countVaultUsers(db),
        sumUsedBytes(db),
        countDocumentsByStatus(db),
        listAudit(db, {}, { limit: RECORDS, offset: 0 }),
      ]);
      return { users, storageBytes, documents, records };
    },
  };
}
