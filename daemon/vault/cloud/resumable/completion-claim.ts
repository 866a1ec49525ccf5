import type { Database } from "../../../../storage/engine/database.ts";
import { claimUpload, releaseUpload } from "../../../../storage/tables/vault/uploads.ts";
import type { Log } from "../../../utilities/logging.ts";

/** How long the claim of a daemon that died lasts. */
const CLAIM_MS = 60_000;
const RENEW_MS = CLAIM_MS / 3;

/**
 * Claims the completion of an upload for this daemon, `owner`, until it is disposed of. Undefined while another daemon has it.
 * Calls within one daemon are ordered by a lock.
 */
export async function claimCompletion(
  {
    db,
    clock,
    log,
  }: { readonly db: Database; readonly clock: () => number; readonly log: Pick<Log, "warn"> },
  owner: string,
  id: string,
): Promise<AsyncDisposable | undefined> {
  const claim = () => {
    const now = clock();
    return claimUpload(db, { id, owner, now, until: now + CLAIM_MS });
  };
  if (!(await claim())) return undefined;
  const renew = () => {
    claim().catch((error: unknown) =>
      log.warn({ err: error, upload_id: id }, "failed to renew the claim of an upload"),
    );
  };
  const timer = setInterval(renew, RENEW_MS);
  timer.unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await releaseUpload(db, id, owner);
    },
  };
}
