import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import type {
  CloudProviderType,
  ConnectOutcome,
  Credentials,
  ProbeResult,
} from "../../../storage/cloud/provider.ts";
import type { CloudSubject, Faults } from "../../conformance/cloud-provider.suite.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import { testProviderDeps } from "./vault-cloud.ts";

/** The server of a test subject: an empty folder of it, and direct access past the adapter. */
export interface DavBackend extends Pick<
  CloudSubject,
  "overwrite" | "leftovers" | "restoreLast" | typeof Symbol.asyncDispose
> {
  readonly origin: string;
  /** A process of its own. */
  readonly isReal?: boolean;
  readonly type: CloudProviderType;
  /** With `url` at the given origin: the proxy's. */
  settings(origin: string): Readonly<Record<string, string>>;
  readonly credentials: Credentials;
  readonly faults?: Partial<Faults>;
}

/** Two connections to a backend, with a fault-injecting proxy in between. */
export async function makeDavSubject(backend: DavBackend): Promise<CloudSubject> {
  const proxy = await startFaultProxy({ target: backend.origin });
  const agent = new Agent();
  const deps = {
    ...testProviderDeps("/", Date.now),
    newId: () => randomUUID(),
    // A real server takes its time.
    ...(backend.isReal === true ? { sleep: (ms: number) => sleep(ms) } : {}),
    guarded: proxy.impatient(agent),
  };
  async function connect(probeResult: ProbeResult | undefined) {
    const outcome: ConnectOutcome = await backend.type.connect(
      {
        connectionId: "c",
        settings: backend.settings(proxy.origin),
        credentials: backend.credentials,
        probeResult,
        saveCredentials: async () => undefined,
        signal: new AbortController().signal,
      },
      deps,
    );
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    return outcome;
  }
  const { provider, probeResult } = await connect(undefined);
  const { provider: other } = await connect(probeResult);
  const { clear = () => undefined } = backend.faults ?? {};
  return {
    provider,
    other,
    overwrite: (id, bytes) => backend.overwrite(id, bytes),
    leftovers: () => backend.leftovers(),
    ...(backend.restoreLast === undefined
      ? {}
      : { restoreLast: () => backend.restoreLast?.() ?? Promise.resolve() }),
    faults: {
      ...proxy.faults,
      ...backend.faults,
      clear() {
        proxy.faults.clear();
        clear();
      },
    },
    async [Symbol.asyncDispose]() {
      await provider.close();
      await other.close();
      await agent.destroy();
      await proxy[Symbol.asyncDispose]();
      await backend[Symbol.asyncDispose]();
    },
  };
}
