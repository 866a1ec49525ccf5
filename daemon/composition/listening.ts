import { AppError } from "../errors.ts";
import {
  isLoopback,
  listenAt,
  type Listening,
  type ListenAt,
  type NodeHandler,
} from "../http/server.ts";
import type { Settings } from "../settings/settings.ts";

/** Every address that the daemon answers on. */
export interface ListeningEverywhere {
  /** http first. */
  readonly urls: readonly string[];
  /** Stops accepting on all of them and waits for running requests, at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Listens for http, and for https too when TLS is on. Plain http off loopback is refused unless
 * `insecure_http` says otherwise. All or nothing: when the second port cannot be had the first is given back.
 */
export async function listenEverywhere(
  settings: Settings,
  handler: NodeHandler,
  certificate: { readonly certFile: string; readonly keyFile: string } | undefined,
): Promise<ListeningEverywhere> {
  const timeouts = {
    headers: settings.headersTimeoutSeconds * 1000,
    idle: settings.idleTimeoutSeconds * 1000,
    request: settings.requestTimeoutSeconds * 1000,
  };
  const open: Listening[] = [];
  const stop = async (graceMs: number) => {
    await Promise.all(open.map((listening) => listening.stop(graceMs)));
  };
  const add = async (at: Omit<ListenAt, "timeouts" | "host">) => {
    open.push(await listenAt(handler, { ...at, host: settings.host, timeouts }));
  };
  const plain = isLoopback(settings.host) || settings.insecureHttp;
  if (!plain && certificate === undefined)
    throw new AppError(
      "invalid_argument",
      `${settings.host} is reachable from other machines, and plain http would send passwords in the clear. ` +
        "Add --tls self (or --tls CERT,KEY), or --insecure-http behind a proxy that speaks https.",
    );
  try {
    if (plain) await add({ port: settings.port, tls: undefined });
    if (certificate !== undefined)
      await add({
        port: httpsPort(settings, plain),
        tls: certificate,
        portFlag: plain ? "--tls-port" : "--port",
      });
  } catch (error) {
    await stop(0);
    throw error;
  }
  return { urls: open.map((listening) => listening.url), stop };
}

/** With no port of its own https takes the next one, or a free one; without plain http the port itself. */
function httpsPort(settings: Settings, plain: boolean): number {
  if (settings.tlsPort !== undefined) return settings.tlsPort;
  if (!plain) return settings.port;
  return settings.port === 0 ? 0 : settings.port + 1;
}
