import type { ConnectFailure } from "../../../../storage/cloud/outcomes.ts";
import type {
  CloudProvider,
  CloudProviderType,
  Credentials,
  ProbeResult,
  LocalFolderAccess,
} from "../../../../storage/cloud/provider.ts";
import type {
  Capabilities,
  ConnectionChanges,
} from "../../../../storage/tables/vault/connections.ts";
import type { Adapters } from "./adapters.ts";
import { toCapabilities } from "./capabilities.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** The result of probing a storage. */
export interface Trial {
  readonly kind: "ok";
  readonly probeResult: ProbeResult;
  readonly capabilities: Capabilities;
  readonly quota: ConnectionChanges;
  /** The given credentials, or those to which the provider renewed them at their first use. */
  readonly credentials: Credentials;
}

/** Opens a storage with credentials that are not stored yet, probes it, and closes it again. Stores nothing. */
export async function tryStorage(
  adapters: Pick<Adapters, "connect">,
  input: {
    readonly connectionId: ConnectionId;
    readonly type: CloudProviderType;
    readonly settings: Readonly<Record<string, string>>;
    readonly credentials: Credentials;
    readonly localFolders: LocalFolderAccess | undefined;
  },
): Promise<Trial | ConnectFailure> {
  let { credentials } = input;
  const outcome = await adapters.connect({
    ...input,
    saveCredentials: async (renewed) => {
      credentials = renewed;
    },
  });
  if (outcome.kind !== "ok") return outcome;
  try {
    const quota = await readQuota(outcome.provider);
    const capabilities = toCapabilities(outcome.provider.capabilities);
    return { kind: "ok", probeResult: outcome.probeResult, capabilities, quota, credentials };
  } finally {
    await outcome.provider.close();
  }
}

/** Reads the quota of a storage as changes of its connection; empty if the storage does not report it. */
export async function readQuota(provider: CloudProvider): Promise<ConnectionChanges> {
  if (!provider.capabilities.quota) return {};
  const outcome = await provider.quota({ signal: new AbortController().signal });
  if (outcome.kind !== "ok") return {};
  return {
    ...(outcome.usedBytes === undefined ? {} : { quotaUsedBytes: outcome.usedBytes }),
    ...(outcome.totalBytes === undefined ? {} : { quotaTotalBytes: outcome.totalBytes }),
  };
}
