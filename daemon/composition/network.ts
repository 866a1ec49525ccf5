import type { IncomingMessage } from "node:http";
import { AppError } from "../errors.ts";
import { isLoopback, listenAt, type Listening, type ListenAt } from "../http/listen.ts";
import type { NodeHandler } from "../http/server.ts";
import type { Settings } from "../settings/settings.ts";
import { createHostCheck, loopbackHosts, type HostRefusal } from "../http/host-check.ts";

/** The daemon's own addresses; all are known only once it listens. */
export interface Addresses {
  /** Called once, when the ports are known. */
  listening(urls: readonly string[]): void;
  /** Base of all links in responses and mails, without a trailing slash. Never derived from a request's Host. */
  publicUrl(): string;
  /** Called once, when SSH listens. */
  listeningSsh(port: number): void;
  /** Where git clients reach this server over SSH; undefined when it is off. */
  ssh(): { readonly host: string; readonly port: number } | undefined;
  /** Base of the links to pages, such as the one in a password-reset mail. */
  frontendUrl(): string;
  /** The names and addresses that a certificate of this daemon is for. */
  names(): readonly string[];
  /** Where the daemon itself listens: it refuses to send requests to these addresses. */
  own(): readonly { readonly address: string; readonly port: number }[];
  /** Returns whether the host and origin of a request are allowed. */
  checkHost(request: IncomingMessage): HostRefusal | undefined;
}

export function createAddresses(settings: Settings): Addresses {
  let urls: readonly string[] = [];
  let check = toCheck(settings, urls);
  let sshPort: number | undefined;
  let sshListeningPort: number | undefined;
  const publicUrl = () =>
    trimmed(settings.publicUrl ?? urls[0] ?? `http://${settings.host}:${settings.port}`);
  return {
    listening: (known) => {
      urls = known;
      check = toCheck(settings, urls);
    },
    publicUrl,
    listeningSsh: (port) => {
      sshListeningPort = port;
      sshPort = settings.sshPublicPort ?? port;
    },
    ssh: () =>
      sshPort === undefined ? undefined : { host: bareHost(new URL(publicUrl())), port: sshPort },
    names: () => namesOf(settings),
    own: () =>
      urls
        .map((url) => new URL(url))
        .flatMap((url) =>
          [portOf(url), sshListeningPort]
            .filter((port) => port !== undefined)
            .map((port) => ({ address: bareHost(url), port })),
        ),
    frontendUrl: () => trimmed(settings.frontendUrl ?? publicUrl()),
    checkHost: (request) => check(request),
  };
}

function namesOf(settings: Settings): string[] {
  const named = [settings.publicUrl, settings.frontendUrl].filter((url) => url !== undefined);
  return [
    ...new Set([
      settings.host,
      ...named.map((url) => bareHost(new URL(url))),
      ...settings.allowedHosts,
    ]),
  ];
}

/** Removes the brackets of an IPv6 address in a URL. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

function toCheck(settings: Settings, urls: readonly string[]) {
  const own = urls.map((url) => new URL(url));
  const named = [settings.publicUrl, settings.frontendUrl].filter((url) => url !== undefined);
  return createHostCheck({
    allowedHosts: [
      ...own.flatMap((url) => [url.host, ...loopbackHosts(portOf(url))]),
      ...named.map((url) => new URL(url).host),
      ...settings.allowedHosts.map((host) => (host.includes(":") ? `[${host}]` : host)),
    ],
    allowedOrigins: settings.allowedOrigins,
  });
}

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, "");
}

/** All listeners of the daemon. */
export interface ListeningEverywhere {
  /** http first. */
  readonly urls: readonly string[];
  /** Stops accepting on all of them and waits for running requests at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Listens for http, and for https when TLS is on. Refuses plain http beyond loopback unless `insecure_http` allows it.
 * All or nothing: closes the first port when the second one is not available.
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

/** Returns the port of SSH: the configured one, else the second after http's, or a free one. */
export function toSshPort({ sshPort, port }: Settings): number {
  return sshPort ?? (port === 0 ? 0 : port + 2);
}

/** Returns the port of https: the configured one, else the one after http's (or a free one); without plain http its port. */
function httpsPort(settings: Settings, plain: boolean): number {
  if (settings.tlsPort !== undefined) return settings.tlsPort;
  if (!plain) return settings.port;
  return settings.port === 0 ? 0 : settings.port + 1;
}
