import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";

const PURPOSE = "vault-totp";

/** Keeps second-factor secrets sealed under the identity of their row and column. */
export interface TotpSecrets {
  seal(secret: string, place: TotpPlace, userId: string): string;
  open(sealed: string, place: TotpPlace, userId: string): string;
}

/** The secret in use, and the one of a setup under way: a value of the one does not open as the other. */
export type TotpPlace = "totp_secret" | "totp_pending_secret";

export function createTotpSecrets(sealer: Sealer): TotpSecrets {
  return {
    seal: (secret, place, userId) => sealer.seal(PURPOSE, secret, contextOf(place, userId)),
    open: (sealed, place, userId) => sealer.openText(PURPOSE, sealed, contextOf(place, userId)),
  };
}

/** The sealed secret in a place, sealed again for the same place. */
export function sealTotpSecretAgain(place: TotpPlace) {
  return (sealed: string, userId: number | string, again: SealAgain): string =>
    again(PURPOSE, sealed, contextOf(place, userId));
}

function contextOf(place: TotpPlace, userId: number | string): string {
  return `vault_users/${userId}/${place}`;
}
