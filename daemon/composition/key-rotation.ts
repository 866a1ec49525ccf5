import type { Database, Queries } from "../../storage/engine/database.ts";
import { sealHostKeyAgain } from "../forge/git/ssh/host-keys.ts";
import { sealTokenAgain } from "../forge/actions/runners/registration.service.ts";
import { sealMasksAgain } from "../forge/actions/secrets/masks.service.ts";
import { sealActionSecretAgain } from "../forge/actions/secrets/secrets.service.ts";
import { type Keyring, type SealAgain, SealError } from "../../storage/keys/keyring.ts";
import type { KeySource } from "../../storage/keys/master-key.ts";
import { assertKeyOfDatabase, type OpenedKeyring } from "../../storage/keys/open.ts";
import {
  listSealed,
  replaceSealed,
  type SealedColumn,
  sealedColumns,
  type SealedRow,
} from "../../storage/tables/common/sealed.ts";
import { sealSecretAgain } from "../forge/accounts/second-factors.service.ts";
import { sealTargetAgain } from "../forge/hooks/targets.ts";
import { sealMailAgain } from "../outbound/mail/mailer.ts";
import { sealApiKeyAgain } from "../vault/ai/api-keys.ts";
import { sealTotpSecretAgain } from "../vault/accounts/totp-secrets.ts";
import { sealCredentialsAgain } from "../vault/cloud/connections/credentials.ts";
import { sealSessionAgain } from "../vault/cloud/resumable/provider-sessions.ts";
import { sealVerifierAgain } from "../vault/cloud/authorization/authorization.service.ts";

/**
 * The outcome of a rotation. `rotated`: the old master key is retired; `isResumed` when a new key existed already, from an
 * interrupted rotation or in the environment. `key_needed`: the key comes from the environment, which has no new one yet.
 * `unreadable`: some values do not open, and nothing was changed. Values are named `table key`.
 */
export type KeyRotation =
  | {
      readonly kind: "rotated";
      readonly source: KeySource;
      readonly isResumed: boolean;
      readonly sealedAgain: number;
      readonly leftUnreadable: readonly string[];
    }
  | { readonly kind: "key_needed" }
  | { readonly kind: "unreadable"; readonly values: readonly string[] };

export interface KeyRotationDeps {
  /** No other process uses it. */
  readonly db: Database;
  /** With all known master keys. */
  readonly keyring: OpenedKeyring;
  /** Adds a new master key to the known ones. */
  readonly addKey: () => Promise<OpenedKeyring>;
  /** Retires all keys but the newest. */
  readonly retireOldKeys: () => Promise<void>;
  /** Leaves values that do not open unchanged, instead of refusing. */
  readonly skipUnreadable: boolean;
}

const BATCH = 500;

/**
 * Rotates the master key: adds a new one, reseals all values in one transaction, retires the old one. After a crash either
 * both keys exist or the rotation is complete; another call resumes it.
 */
export async function rotateMasterKey(deps: KeyRotationDeps): Promise<KeyRotation> {
  const { db, keyring } = deps;
  const unreadable = await listUnreadable(db, keyring);
  if (unreadable.length > 0 && !deps.skipUnreadable)
    return { kind: "unreadable", values: unreadable };
  const isResumed = keyring.isRotating;
  if (!isResumed && keyring.source === "environment") return { kind: "key_needed" };
  const both = isResumed ? keyring : await deps.addKey();
  const sealedAgain = await db.transaction(async (tx) => {
    await assertKeyOfDatabase(tx, both.checks, tx.now);
    let count = 0;
    for (const place of places)
      for await (const row of rowsOf(tx, place.column)) {
        const value = sealedWithNewest(both, place, row);
        if (value === undefined) continue;
        await replaceSealed(tx, place.column, { key: row.key, value });
        count += 1;
      }
    return count;
  });
  await deps.retireOldKeys();
  return {
    kind: "rotated",
    source: both.source,
    isResumed,
    sealedAgain,
    leftUnreadable: unreadable,
  };
}

/** A column, and the function of its feature that reseals its values. */
interface SealedPlace {
  readonly column: SealedColumn;
  readonly sealAgain: (value: string, key: number | string, again: SealAgain) => string;
}

/** Reseals a value of a column. */
export const sealAgainIn: Readonly<Record<keyof typeof sealedColumns, SealedPlace["sealAgain"]>> = {
  forgeSecondFactors: sealSecretAgain,
  forgeHookTargets: sealTargetAgain,
  forgeRegistrationTokens: sealTokenAgain,
  forgeActionSecrets: sealActionSecretAgain,
  forgeTaskMasks: sealMasksAgain,
  forgeSshHostKeys: sealHostKeyAgain,
  vaultTotpSecrets: sealTotpSecretAgain("totp_secret"),
  vaultPendingTotpSecrets: sealTotpSecretAgain("totp_pending_secret"),
  vaultCredentials: sealCredentialsAgain,
  vaultApiKeys: sealApiKeyAgain,
  vaultCodeVerifiers: sealVerifierAgain,
  vaultUploadSessions: sealSessionAgain,
  queuedMails: sealMailAgain,
};

const names = Object.keys(sealedColumns) as (keyof typeof sealedColumns)[];
const places: readonly SealedPlace[] = names.map((name) => ({
  column: sealedColumns[name],
  sealAgain: sealAgainIn[name],
}));

async function listUnreadable(db: Queries, keyring: Keyring): Promise<string[]> {
  const unreadable: string[] = [];
  for (const place of places)
    for await (const row of rowsOf(db, place.column))
      if (sealedWithNewest(keyring, place, row) === undefined)
        unreadable.push(`${place.column.table} ${row.key}`);
  return unreadable;
}

/** Returns the value sealed with the newest key; undefined when it does not open. */
function sealedWithNewest(
  keyring: Keyring,
  { sealAgain }: SealedPlace,
  { key, value }: SealedRow,
): string | undefined {
  try {
    return sealAgain(value, key, (purpose, sealed, associatedData) =>
      keyring.seal(purpose, keyring.open(purpose, sealed, associatedData), associatedData),
    );
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

/** Yields all rows of a column, in batches. */
async function* rowsOf(db: Queries, column: SealedColumn): AsyncGenerator<SealedRow> {
  let last: SealedRow | undefined;
  for (;;) {
    const rows = await listSealed(db, column, last?.key, BATCH);
    yield* rows;
    last = rows.at(-1);
    if (rows.length < BATCH) return;
  }
}
