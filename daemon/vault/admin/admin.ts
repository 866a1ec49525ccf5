import type { Database } from "../../../storage/engine/database.ts";
import type { ResetMails } from "../accounts/reset-mails.ts";
import { type AuditTrail, createAuditTrail } from "./audit.service.ts";
import {
  createUserAdministration,
  type ReleaseStorages,
  type UserAdministration,
} from "./users.service.ts";

/** What administrators may do beyond what every account may. */
export interface VaultAdministration {
  readonly users: UserAdministration;
  readonly audit: AuditTrail;
}

/** Wires the services of administration. Opens nothing and starts nothing. */
export function createVaultAdministration(deps: {
  readonly db: Database;
  readonly newId: () => string;
  /** Of the accounts: links to choose a password go out the same way. */
  readonly resetMails: ResetMails;
  readonly releaseStorages: ReleaseStorages;
  readonly settings: { readonly defaultQuotaBytes: number };
}): VaultAdministration {
  const { db, newId, resetMails, releaseStorages, settings } = deps;
  return {
    users: createUserAdministration({
      db,
      newId,
      resetMails,
      releaseStorages,
      defaultQuotaBytes: settings.defaultQuotaBytes,
    }),
    audit: createAuditTrail({ db }),
  };
}
