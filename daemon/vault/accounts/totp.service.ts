import type { Database } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  deleteBackupCodes,
  replaceBackupCodes,
} from "../../../storage/tables/vault/backup-codes.ts";
import { disableTotp, enableTotp, storePendingTotp } from "../../../storage/tables/vault/totp.ts";
import { findVaultUser } from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import { createBackupCodes, hashBackupCode } from "./backup-codes.ts";
import type { Client } from "./client.ts";
import { endOtherSessions } from "./sessions.service.ts";
import { createTotpSecret, findTotpStep, toProvisioningUri } from "../../utilities/totp.ts";
import type { TotpSecrets } from "./totp-secrets.ts";

export type Totp = ReturnType<typeof createTotp>;

export interface TotpDeps {
  readonly db: Database;
  readonly randomBytes: (length: number) => Uint8Array;
  readonly totpSecrets: TotpSecrets;
  readonly instanceName: string;
}

/** Validity of a pending secret. */
const PENDING_MS = 15 * 60_000;

/** The second factor. */
export function createTotp({ db, randomBytes, totpSecrets, instanceName }: TotpDeps) {
  return {
    /**
     * Creates a pending secret, valid for 15 minutes, and replaces an earlier one. Throws `invalid_argument` when the second
     * factor is on.
     */
    async setUp({
      userId,
      email,
    }: VaultCaller): Promise<{ readonly secret: string; readonly provisioningUri: string }> {
      const secret = createTotpSecret(randomBytes);
      const sealed = totpSecrets.seal(secret, "totp_pending_secret", userId);
      const stored = await db.transaction((tx) =>
        storePendingTotp(tx, userId, { secret: sealed, expiresAt: tx.now + PENDING_MS }),
      );
      if (!stored) throw alreadyOn();
      return {
        secret,
        provisioningUri: toProvisioningUri({ secret, issuer: instanceName, account: email }),
      };
    },

    /**
     * Turns the second factor on if `code` matches the pending secret. Returns the ten backup codes, which are never shown
     * again, and how many other sessions it revoked. Throws `invalid_argument` otherwise.
     */
    async enable(
      { userId, address }: VaultCaller,
      code: string,
      client: Client,
    ): Promise<{ readonly backupCodes: readonly string[]; readonly sessionsRevoked: number }> {
      const backupCodes = createBackupCodes(randomBytes);
      const sessionsRevoked = await db.transaction(async (tx) => {
        const user = await findVaultUser(tx, userId);
        if (user?.totpEnabled === true) throw alreadyOn();
        if (user?.totpPendingSecret === undefined || (user.totpPendingExpiresAt ?? 0) <= tx.now)
          throw new AppError("invalid_argument", "Begin with the setup: no secret is waiting");
        const secret = totpSecrets.open(user.totpPendingSecret, "totp_pending_secret", userId);
        const step = findTotpStep({ secret, code, now: tx.now, lastStep: 0 });
        if (step === undefined) throw wrongCode();
        const sealed = totpSecrets.seal(secret, "totp_secret", userId);
        if (!(await enableTotp(tx, userId, { secret: sealed, step }))) throw alreadyOn();
        const hashes = backupCodes.map((code) =>
          hashBackupCode({ code, userId, totpSecret: secret }),
        );
        await replaceBackupCodes(tx, userId, hashes);
        const ended = await endOtherSessions(tx, userId, client);
        await insertAudit(tx, {
          eventType: "auth.totp_enrolled",
          userId,
          actorId: userId,
          ipAddress: address,
          metadata: { sessions_revoked: ended },
        });
        return ended;
      });
      return { backupCodes, sessionsRevoked };
    },

    /** Turns the second factor off and returns how many other sessions it revoked. Idempotent. */
    disable: ({ userId, address }: VaultCaller, client: Client): Promise<number> =>
      db.transaction(async (tx) => {
        if (!(await disableTotp(tx, userId))) return 0;
        await deleteBackupCodes(tx, userId);
        const ended = await endOtherSessions(tx, userId, client);
        await insertAudit(tx, {
          eventType: "auth.totp_revoked",
          userId,
          actorId: userId,
          ipAddress: address,
          metadata: { sessions_revoked: ended },
        });
        return ended;
      }),
  };
}

function alreadyOn(): AppError {
  return new AppError("invalid_argument", "TOTP is already enabled");
}

function wrongCode(): AppError {
  return new AppError("invalid_argument", "Incorrect code");
}
