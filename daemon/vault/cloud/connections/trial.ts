import type { ConnectFailure } from "../../../../storage/cloud/outcomes.ts";
import type {
  CloudProvider,
  CloudProviderType,
  Credentials,
  Facts,
} from "../../../../storage/cloud/provider.ts";
import type { ConnectionChanges } from "../../../../storage/tables/vault/connections.ts";
import type { Adapters } from "./adapters.ts";

/** What a look at a storage has shown. */
export type TrialResult =
  | {
      readonly kind: "ok";
      readonly facts: Facts;
      readonly quota: ConnectionChanges;
      /** What they became while looking: some providers renew them with their first use. */
      readonly credentials: Credentials;
    }
  | ConnectFailure;

/** Looks at a storage with credentials that nobody has kept yet, and keeps nothing itself. */
export async function tryOut(
  adapters: Pick<Adapters, "connect">,
  input: {
    readonly connectionId: string;
    readonly type: CloudProviderType;
    readonly settings: Readonly<Record<string, string>>;
    readonly credentials: Credentials;
  },
): Promise<TrialResult> {
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
    return { kind: "ok", facts: outcome.facts, quota, credentials };
  } finally {
    await outcome.provider.close();
  }
}

/** What a storage says of its space; nothing changes where it says nothing. */
export async function readQuota(provider: CloudProvider): Promise<ConnectionChanges> {
  if (!provider.can.quota) return {};
  const outcome = await provider.quota({ signal: new AbortController().signal });
  if (outcome.kind !== "ok") return {};
  return {
    ...(outcome.usedBytes === undefined ? {} : { quotaUsedBytes: outcome.usedBytes }),
    ...(outcome.totalBytes === undefined ? {} : { quotaTotalBytes: outcome.totalBytes }),
  };
}
