import { z } from "zod";
import type { Credentials } from "../../../../storage/cloud/provider.ts";
import { SealError, type Keyring, type SealAgain } from "../../../../storage/keys/keyring.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { AppError } from "../../../errors.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** The text of 401 when credentials cannot be unsealed. */
const UNREADABLE_CREDENTIALS = "Credential decryption failed — reconnect this connection";
const SEAL_PURPOSE = "cloud-credentials";
const credentialsSchema = z.record(z.string(), z.string());

/** Credentials as the row of their connection keeps them: sealed, and worthless in any other row. */
export function sealCredentials(
  keys: Pick<Keyring, "seal">,
  connectionId: ConnectionId,
  credentials: Credentials,
): string {
  return keys.seal(SEAL_PURPOSE, JSON.stringify(credentials), rowOf(connectionId));
}

/**
 * Unseals the credentials of a connection. Throws `reauth_required` when they were sealed with another key or for
 * another row.
 */
export function unsealCredentials(
  keys: Pick<Keyring, "openText">,
  connection: Connection,
): Credentials {
  try {
    const text = keys.openText(SEAL_PURPOSE, connection.credentials, rowOf(connection.id));
    return credentialsSchema.parse(JSON.parse(text));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new AppError("reauth_required", UNREADABLE_CREDENTIALS, { cause: error });
  }
}

/** Reseals the credentials of a connection with the current key. */
export function sealCredentialsAgain(
  sealed: string,
  connectionId: number | string,
  reseal: SealAgain,
): string {
  return reseal(SEAL_PURPOSE, sealed, rowOf(connectionId));
}

function rowOf(connectionId: number | string): string {
  return `vault_connections/${connectionId}`;
}
