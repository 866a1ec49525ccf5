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
