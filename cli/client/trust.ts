import { join } from "node:path";
import type { SecureContext } from "node:tls";
import type { CliEnvironment } from "../environment.ts";
import { readTextFile } from "../profile/config.ts";

/** The certificates that https trusts; undefined for Node's default. */
export type Trust = () => Promise<SecureContext | undefined>;

/**
 * Trusts the system's certificates and the self-signed one of this home's daemon (`--tls self`). That is not an authority
 * and is valid only for the names of its own machine, so no other server can use it.
 */
export function createTrust(cli: Pick<CliEnvironment, "config">): Trust {
  let known: Awaited<ReturnType<Trust>>;
  // A missing file is read again at the next call: a daemon creates it at its first start.
  return async () => (known ??= await read(cli));
}

async function read(cli: Pick<CliEnvironment, "config">): ReturnType<Trust> {
  const { paths } = await cli.config();
  try {
    const own = readTextFile(join(paths.dataDirectory, "keys", "tls.crt"));
    if (own === undefined) return undefined;
    const { createSecureContext, getCACertificates } = await import("node:tls");
    return createSecureContext({ ca: [...getCACertificates("default"), own] });
  } catch {
    // Another user's home, or a damaged file: its daemon is a stranger like others.
    return undefined;
  }
}
