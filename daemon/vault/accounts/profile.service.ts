import type { Database, Queries } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { findConnectionOfProvider } from "../../../storage/tables/vault/connections.ts";
import { INTERNAL_BACKEND } from "../../../storage/tables/vault/documents/documents.ts";
import { findQuota, type VaultQuota } from "../../../storage/tables/vault/quotas.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import {
  findVaultUser,
  type PdfOpenMode,
  setDefaultStorageBackend,
  setPdfOpenMode,
  type VaultUser,
} from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import { toFieldError } from "../cloud/field-error.ts";
import { accountOf } from "./authentication.ts";
import { badAccessToken } from "./refusals.ts";

/** The choices of an account. */
export interface Preferences {
  readonly pdfOpenMode: PdfOpenMode;
  /** `internal`, or a type of provider. */
  readonly defaultStorageBackend: string;
}

/** The caller's own account and preferences. */
export function createProfile({ db }: { readonly db: Database }) {
  return {
    /** The caller's account. */
    async view(caller: VaultCaller): Promise<VaultUser> {
      const user = accountOf(caller) ?? (await findVaultUser(db, caller.userId));
      // Deleted since the token was verified.
      if (user === undefined) throw badAccessToken();
      return user;
    },

    /** Throws `not_found` when the account has no quota row. */
    async viewQuota({ userId }: VaultCaller): Promise<VaultQuota> {
      const quota = await findQuota(db, userId);
      if (quota === undefined) throw new AppError("not_found", "Quota not found");
      return quota;
    },

    /** PDF files open `in_app`, and documents are stored `internal`, until the user chooses. */
    viewPreferences: ({ userId }: VaultCaller): Promise<Preferences> => readPreferences(db, userId),

    /** Throws `not_found` when the account was deleted. */
    async setPdfOpenMode({ userId }: VaultCaller, mode: PdfOpenMode): Promise<PdfOpenMode> {
      if (!(await setPdfOpenMode(db, userId, mode)))
        throw new AppError("not_found", "User not found");
      return mode;
    },

    /**
     * Stores where new documents go: `internal`, or the type of one of the caller's connections. Refuses every other
     * value with `unprocessable`, and throws `not_found` when the account was deleted. Existing documents stay in their
     * storage.
     */
    async setDefaultStorage(
      { userId, address }: VaultCaller,
      backend: string,
    ): Promise<Preferences> {
      return db.transaction(async (tx) => {
        if (
          backend !== INTERNAL_BACKEND &&
          (await findConnectionOfProvider(tx, userId, backend)) === undefined
        )
          throw toFieldError(
            ["body", "backend"],
            "The backend must be internal, or a provider that you have connected.",
            "unknown_backend",
          );
        if (!(await setDefaultStorageBackend(tx, userId, backend)))
          throw new AppError("not_found", "User not found");
        await insertAudit(tx, {
          eventType: "document.storage_changed",
          userId,
          actorId: userId,
          resourceId: userId,
          ipAddress: address,
          metadata: { storage_backend: backend },
        });
        return readPreferences(tx, userId);
      });
    },
  };
}

async function readPreferences(from: Queries, userId: AccountId): Promise<Preferences> {
  const user = await findVaultUser(from, userId);
  return {
    pdfOpenMode: user?.pdfOpenMode ?? "in_app",
    defaultStorageBackend: user?.defaultStorageBackend ?? INTERNAL_BACKEND,
  };
}
