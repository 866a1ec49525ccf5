import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";

const PURPOSE = "vault-ai";

/** Seals the API key of a provider for its row. */
export function sealApiKey(keys: Pick<Sealer, "seal">, providerId: string, apiKey: string): string {
  return keys.seal(PURPOSE, apiKey, contextOf(providerId));
}

/** Returns the API key of a provider. @throws SealError */
export function openApiKey(
  keys: Pick<Sealer, "openText">,
  providerId: string,
  sealed: string,
): string {
  return keys.openText(PURPOSE, sealed, contextOf(providerId));
}

/** Seals a sealed API key with the newest master key, for rotation. */
export function sealApiKeyAgain(
  sealed: string,
  providerId: number | string,
  reseal: SealAgain,
): string {
  return reseal(PURPOSE, sealed, contextOf(providerId));
}

function contextOf(providerId: number | string): string {
  return `vault_ai_providers/${providerId}/api_key`;
}
