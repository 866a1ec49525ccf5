import type { CloudProviderType } from "../../../../storage/cloud/provider.ts";
import type { Queries } from "../../../../storage/engine/database.ts";
import { listConnectionsOfProviders } from "../../../../storage/tables/vault/connections.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { Adapters } from "./adapters.ts";

export interface RecoveryDeps {
  readonly db: Queries;
  readonly providerTypes: readonly CloudProviderType[];
  readonly log: Pick<Log, "warn">;
}

/** Time limit of one connection: a server that does not answer must not hold up the others. */
const CONNECTION_MS = 60_000;

/**
 * Completes or removes what an earlier run of this daemon left in connected storages, one connection after the other.
 * A failure is logged and left to the next call to that storage. Ends early when `signal` aborts.
 */
export async function recoverConnections(
  { db, providerTypes, log }: RecoveryDeps,
  adapters: Pick<Adapters, "call">,
  signal: AbortSignal,
): Promise<void> {
  const names = providerTypes.filter(({ recovers }) => recovers === true).map(({ type }) => type);
  for (const connection of await listConnectionsOfProviders(db, names)) {
    if (signal.aborted) return;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(CONNECTION_MS)]);
    try {
      await adapters.call(connection, async (provider) => {
        await provider.recover?.({ signal: limited });
        return { kind: "recovered" };
      });
    } catch (error) {
      if (signal.aborted) return;
      const { id, provider } = connection;
      log.warn({ err: error, connection_id: id, provider }, "failed to recover a connection");
    }
  }
}
