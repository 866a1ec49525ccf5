import type { SealAgain } from "../../../storage/keys/keyring.ts";

const PURPOSE = "vault-ai";

/** Seals a sealed API key with the newest master key, for rotation. */
export function sealApiKeyAgain(
  sealed: string,
  providerId: number | string,
  again: SealAgain,
): string {
  return again(PURPOSE, sealed, contextOf(providerId));
}

function contextOf(providerId: number | string): string {
  return `vault_ai_providers/${providerId}/api_key`;
}
