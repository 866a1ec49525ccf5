import { Agent } from "undici";
import type { CloudProvider } from "../../../storage/cloud/provider.ts";
import type { CloudSubject, Faults } from "../../conformance/cloud-provider.suite.ts";
import type { OAuthServer } from "../../stand-ins/oauth-server.ts";
import type { Served } from "../../stand-ins/serve.ts";
import { startFaultProxy, type FaultProxyOptions } from "./fault-proxy.ts";
import type { Way } from "./vendor-drives.ts";

/** The common interface of the vendor stand-ins. */
interface VendorServer extends Served {
  readonly oauth: OAuthServer;
  requests(): number;
  failSecondPage(isFailing: boolean): void;
  fill(afterBytes: number | undefined): void;
}

export interface VendorSubjectOptions extends Pick<CloudSubject, "leftovers"> {
  /** A failing network is put in between: it classifies the requests. Without it no such network is used. */
  readonly proxied: Omit<FaultProxyOptions, "target"> | undefined;
  connect(way: Way & { readonly origin: string }): Promise<CloudProvider>;
  /** The data of the stand-in. */
  readonly store: {
    overwrite(id: string, bytes: Uint8Array): void;
    restoreLast(): void;
  };
  /** Faults that only this vendor has, or that the stand-in makes instead of the network. */
  readonly faults?: Partial<Faults>;
  /** Ends those of `faults` that last. */
  clear?(): void;
  /** Returns a violated invariant after everything is closed; undefined when all hold. */
  findBreach?(): string | undefined;
}

/** The faults that `openVendorSubject` offers with every vendor. */
export const vendorFaults = ["failSecondPage", "expireToken", "refuseRenewal", "renewals"] as const;

/** An account at a vendor's stand-in with the adapter connected twice. Disposing of it stops the stand-in too. */
export async function openVendorSubject(
  server: VendorServer,
  options: VendorSubjectOptions,
): Promise<CloudSubject> {
  const proxy =
    options.proxied === undefined
      ? undefined
      : await startFaultProxy({ target: server.origin, ...options.proxied });
  const agent = new Agent();
  const way = {
    dispatcher: proxy?.impatient(agent) ?? agent,
    origin: proxy?.origin ?? server.origin,
  };
  const [provider, other] = [await options.connect(way), await options.connect(way)];
  return {
    provider,
    other,
    overwrite: async (id, bytes) => options.store.overwrite(id, bytes),
    restoreLast: async () => options.store.restoreLast(),
    leftovers: options.leftovers,
    faults: {
      requests: server.requests,
      fill: server.fill,
      ...proxy?.faults,
      failSecondPage: () => server.failSecondPage(true),
      expireToken: server.oauth.expireTokens,
      refuseRenewal: () => server.oauth.refuseRenewal(true),
      renewals: server.oauth.renewals,
      ...options.faults,
      clear() {
        proxy?.faults.clear();
        server.failSecondPage(false);
        server.fill(undefined);
        options.clear?.();
      },
    },
    async [Symbol.asyncDispose]() {
      await provider.close();
      await other.close();
      await agent.destroy();
      await proxy?.[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      const breach = options.findBreach?.();
      if (breach !== undefined) throw new Error(breach);
    },
  };
}
