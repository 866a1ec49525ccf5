import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";

const PURPOSE = "vault-totp";

export type TotpSecrets = ReturnType<typeof createTotpSecrets>;

/** The columns of the active and of the pending secret. A value sealed for one does not open for the other. */
export type TotpPlace = "totp_secret" | "totp_pending_secret";

/** Seals second-factor secrets with the identity of their row and column as the context. */
export function createTotpSecrets(sealer: Sealer) {
  return {
    seal: (secret: string, place: TotpPlace, userId: AccountId): string =>
      sealer.seal(PURPOSE, secret, contextOf(place, userId)),
    open: (sealed: string, place: TotpPlace, userId: AccountId): string =>
      sealer.openText(PURPOSE, sealed, contextOf(place, userId)),
  };
}

/** Reseals the secret of a column with the current key. */
export function sealTotpSecretAgain(place: TotpPlace) {
  return (sealed: string, userId: number | string, reseal: SealAgain): string =>
    reseal(PURPOSE, sealed, contextOf(place, userId));
}

function contextOf(place: TotpPlace, userId: number | string): string {
  return `vault_users/${userId}/${place}`;
}
