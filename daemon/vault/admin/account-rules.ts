import type { Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { countActiveAdministrators, type VaultUser } from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";

/** Refuses to lock out the caller or the last active administrator. */
export async function assertDispensable(
  tx: Transaction,
  caller: VaultCaller,
  user: VaultUser,
  verb: keyof typeof indispensable,
): Promise<void> {
  if (user.id === caller.userId) throw new AppError("conflict", indispensable[verb].oneself);
  const isLast =
    user.role === "admin" && user.isActive && (await countActiveAdministrators(tx)) <= 1;
  if (isLast) throw new AppError("conflict", indispensable[verb].last);
}

const indispensable = {
  deactivate: {
    oneself: "You cannot deactivate your own account",
    last: "The last active administrator cannot be deactivated",
  },
  demote: {
    oneself: "You cannot take the rights of an administrator from your own account",
    last: "The last active administrator must remain one",
  },
  delete: {
    oneself: "You cannot delete your own account",
    last: "The last active administrator cannot be deleted",
  },
} as const;

/** Adds the audit record of a change by an administrator. */
export function record(
  tx: Transaction,
  caller: VaultCaller,
  eventType: string,
  userId: AccountId,
  metadata: Readonly<Record<string, unknown>>,
): Promise<void> {
  return insertAudit(tx, {
    eventType,
    userId,
    actorId: caller.userId,
    resourceId: userId,
    ipAddress: caller.address,
    metadata,
  });
}
