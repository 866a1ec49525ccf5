import type { SessionStore } from "../../../../storage/cloud/provider.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { SealError, type Keyring, type SealAgain } from "../../../../storage/keys/keyring.ts";
import { findConnectionById } from "../../../../storage/tables/vault/connections.ts";
import { type OpenUpload, updateUploadSession } from "../../../../storage/tables/vault/uploads.ts";
import { AppError } from "../../../errors.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { Adapters } from "../connections/adapters.ts";

export interface ProviderSessionsDeps {
  readonly db: Database;
  readonly keys: Pick<Keyring, "seal" | "openText">;
  readonly log: Log;
}

const SEAL_PURPOSE = "upload-session";
const DISCARD_MS = 30_000;

/** The sessions at providers, each sealed in the row of its upload: some addresses of sessions need no other credential. */
export function createProviderSessions(
  { db, keys, log }: ProviderSessionsDeps,
  adapters: Pick<Adapters, "open">,
) {
  function unseal({ id, sealedSession }: OpenUpload): string | undefined {
    if (sealedSession === undefined) return undefined;
    try {
      return keys.openText(SEAL_PURPOSE, sealedSession, rowOf(id));
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      log.warn({ upload_id: id }, "failed to open the session of an upload; it begins again");
      return undefined;
    }
  }

  return {
    /** Returns the session of an upload for the adapter that continues it. */
    keep: (upload: OpenUpload): SessionStore => ({
      saved: unseal(upload),
      save: (session) =>
        updateUploadSession(
          db,
          upload.id,
          session === undefined ? undefined : keys.seal(SEAL_PURPOSE, session, rowOf(upload.id)),
        ),
    }),

    /** Discards the session of an upload at the provider. One that cannot be reached is left to expire there. */
    async discard(upload: OpenUpload): Promise<void> {
      const session = unseal(upload);
      const connection = await findConnectionById(db, upload.connectionId);
      if (session === undefined || connection === undefined) return;
      try {
        const provider = await adapters.open(connection);
        await provider.discardSession?.({ session, signal: AbortSignal.timeout(DISCARD_MS) });
      } catch (error) {
        // The connection cannot be opened any more.
        if (!(error instanceof AppError)) throw error;
        log.info({ upload_id: upload.id, err: error }, "left the session of an upload to expire");
      }
    },
  };
}

/** Reseals the session of an upload with the current key. */
export function sealSessionAgain(sealed: string, id: number | string, reseal: SealAgain): string {
  return reseal(SEAL_PURPOSE, sealed, rowOf(id));
}

function rowOf(id: number | string): string {
  return `vault_uploads/${id}`;
}
