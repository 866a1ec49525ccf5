import { createAuditChain } from "../vault/admin/audit-chain.service.ts";
import { createDailyExports } from "../vault/admin/daily-exports.ts";
import type { ServiceDeps } from "./services.ts";

/** Opens the daily exports of the audit trail, which a scheduled task writes without the rest of the vault. */
export function openDailyExports({ db, input, stores }: ServiceDeps) {
  const { clock, settings } = input;
  return createDailyExports({
    db,
    clock,
    folder: stores.directory.exports,
    temporaryFolder: stores.directory.tmp,
    retentionDays: settings.auditExportDays,
  });
}

/** Opens the chain of the audit trail, whose heads the same task records. */
export function openAuditChain({ db, input, log }: ServiceDeps) {
  const { clock, settings } = input;
  return createAuditChain({ db, clock, log, keptDays: settings.auditDays });
}
