import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";

const PURPOSE = "vault-ai";

/** Seals the API key of an AI provider under the identity of its row. */
export function sealApiKey(sealer: Sealer, providerId: string, apiKey: string): string {
  return sealer.seal(PURPOSE, apiKey, contextOf(providerId));
}

/** Opens a sealed API key. Throws `SealError` when it is damaged or of another provider. */
export function openApiKey(sealer: Sealer, providerId: string, sealed: string): string {
  return sealer.openText(PURPOSE, sealed, contextOf(providerId));
}

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
