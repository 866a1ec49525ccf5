import { join } from "node:path";
import type { SecureContext } from "node:tls";
import type { CliEnvironment } from "../environment.ts";
import { readTextFile } from "../profile/config.ts";

/** Whom https is trusted to be; undefined for what Node does by itself. */
export type Trust = () => Promise<SecureContext | undefined>;

/**
 * Trusts the system's certificates and the self-signed one of this home's daemon (`--tls self`). That is not an authority
 * and is valid only for the names of its own machine, so no other server can use it.
 */
export function createTrust(cli: Pick<CliEnvironment, "config">): Trust {
  let known: Awaited<ReturnType<Trust>>;
  // What is not there yet is looked for again: a daemon makes it when it first starts.
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
