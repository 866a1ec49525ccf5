import type { Database } from "../../../storage/engine/database.ts";
import type { InvitationLinks } from "../accounts/invitation-links.ts";
import type { ResetMails } from "../accounts/reset-mails.ts";
import type { AuditChains } from "./audit-chain.service.ts";
import { createAuditTrail } from "./audit.service.ts";
import type { DailyExports } from "./daily-exports.ts";
import type { LocalFolders } from "../cloud/local-folders/local-folders.service.ts";
import { createOverview } from "./overview.service.ts";
import { createUserAdministration, type ReleaseStorages } from "./users.service.ts";

/** The services that only administrators may use. */
export type VaultAdministration = ReturnType<typeof createVaultAdministration>;

/** Wires up the services of administration, without starting anything. */
export function createVaultAdministration(deps: {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** Mails the links to choose a password. */
  readonly resetMails: ResetMails;
  readonly invitationLinks: InvitationLinks;
  readonly releaseStorages: ReleaseStorages;
  readonly localFolders: LocalFolders;
  readonly dailyExports: DailyExports;
  readonly auditChain: AuditChains;
  readonly settings: { readonly defaultQuotaBytes: number };
}) {
  const { db, clock, newId, resetMails, releaseStorages, dailyExports, settings } = deps;
  return {
    users: createUserAdministration({
      db,
      newId,
      resetMails,
      invitationLinks: deps.invitationLinks,
      releaseStorages,
      defaultQuotaBytes: settings.defaultQuotaBytes,
    }),
    localFolders: deps.localFolders,
    audit: createAuditTrail({ db, clock }),
    auditChain: deps.auditChain,
    dailyExports,
    overview: createOverview({ db }),
  };
}
