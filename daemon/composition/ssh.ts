import { openHostKeys } from "../forge/git/ssh/host-keys.ts";
import { createSshAuthentication } from "../forge/git/ssh/ssh-authentication.ts";
import type { SshServer } from "../forge/git/ssh/ssh-server.ts";
import type { SmartHttp } from "../forge/git/smart-http.service.ts";
import type { ServiceDeps } from "./accounts.ts";

/** Connections of one address: each costs a key exchange. */
const connectionRule = { max: 300, seconds: 60 } as const;

/** Creates the SSH server with the keys of this home; undefined when it is off. Nothing listens yet. */
export async function openSsh(
  { db, input, stores, limiter, log }: ServiceDeps,
  transfers: SmartHttp,
): Promise<SshServer | undefined> {
  const { settings, clock, version } = input;
  if (!settings.ssh) return undefined;
  // Loaded only when it is on: the library is large.
  const { createSshServer } = await import("../forge/git/ssh/ssh-server.ts");
  return createSshServer({
    transfers,
    authentication: createSshAuthentication({ db, clock }),
    hostKeys: await openHostKeys({ db, sealer: stores.keyring }),
    log,
    countConnection: async (address) => {
      const key = `ssh ${limiter.addressKey(address)}`;
      return (await limiter.consume(key, connectionRule)).allowed;
    },
    addressKey: limiter.addressKey,
    idleMs: settings.idleTimeoutSeconds * 1000,
    // A dash would begin the comment of the identification (RFC 4253, 4.2).
    ident: `croft_${version.replace(/[^\w.]/g, "_")}`,
  });
}
