import { openHostKeys } from "../forge/git/ssh/host-keys.ts";
import { createSshServer, type SshServer } from "../forge/git/ssh/ssh-server.ts";
import type { Lazy } from "./lazy.ts";
import type { OpenedForge } from "./open-forge.ts";
import type { ServiceDeps } from "./services.ts";

/** Connections of one address: each costs a key exchange. */
const connectionRule = { max: 300, seconds: 60 } as const;

/** Creates the SSH server with the keys of this home; undefined when it is off. Nothing listens yet. */
export async function openSsh(
  { db, input, stores, limiter, log }: ServiceDeps,
  forge: Pick<Lazy<OpenedForge>, "get">,
): Promise<SshServer | undefined> {
  const { settings, version } = input;
  if (!settings.ssh) return undefined;
  return createSshServer({
    transfers: {
      advertise: async (...input) => (await forge.get()).transfers.advertise(...input),
      serveFetch: async (transfer) => (await forge.get()).transfers.serveFetch(transfer),
      serveArchive: async (transfer) => (await forge.get()).transfers.serveArchive(transfer),
      push: async (transfer) => (await forge.get()).transfers.push(transfer),
      authorizeLargeFiles: async (...input) =>
        (await forge.get()).transfers.authorizeLargeFiles(...input),
    },
    authentication: {
      knows: async (...input) => (await forge.get()).sshAuthentication.knows(...input),
      findCaller: async (...input) => (await forge.get()).sshAuthentication.findCaller(...input),
    },
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
