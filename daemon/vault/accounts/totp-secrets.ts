import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";

const PURPOSE = "vault-totp";

/** Seals second-factor secrets with the identity of their row and column as the context. */
export interface TotpSecrets {
  seal(secret: string, place: TotpPlace, userId: AccountId): string;
  open(sealed: string, place: TotpPlace, userId: AccountId): string;
}

/** The columns of the active and of the pending secret. A value sealed for one does not open for the other. */
export type TotpPlace = "totp_secret" | "totp_pending_secret";

export function createTotpSecrets(sealer: Sealer): TotpSecrets {
  return {
    seal: (secret, place, userId) => sealer.seal(PURPOSE, secret, contextOf(place, userId)),
    open: (sealed, place, userId) => sealer.openText(PURPOSE, sealed, contextOf(place, userId)),
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
