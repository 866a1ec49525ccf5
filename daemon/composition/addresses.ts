import type { IncomingMessage } from "node:http";
import type { Settings } from "../settings/settings.ts";
import { createHostCheck, loopbackHosts, type HostRefusal } from "../http/host-check.ts";

/** The daemon's own addresses: known in full only once it listens. */
export interface Addresses {
  /** Told once, when the ports are known. */
  listening(urls: readonly string[]): void;
  /** Base of every link that is handed out, without a trailing slash. Never made from a request's Host. */
  publicUrl(): string;
  /** Base of the links to pages, such as the one in a password-reset mail. */
  frontendUrl(): string;
  /** The names and addresses that a certificate of this daemon is for. */
  names(): readonly string[];
  /** Where the daemon itself listens: nobody may have it call these. */
  own(): readonly { readonly address: string; readonly port: number }[];
  /** Whether a request is for this daemon and comes from where it may. */
  checkHost(request: IncomingMessage): HostRefusal | undefined;
}

export function createAddresses(settings: Settings): Addresses {
  let urls: readonly string[] = [];
  let check = toCheck(settings, urls);
  const publicUrl = () =>
    trimmed(settings.publicUrl ?? urls[0] ?? `http://${settings.host}:${settings.port}`);
  return {
    listening: (known) => {
      urls = known;
      check = toCheck(settings, urls);
    },
    publicUrl,
    names: () => namesOf(settings),
    own: () =>
      urls.map((url) => new URL(url)).map((url) => ({ address: bareHost(url), port: portOf(url) })),
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

/** The host without the brackets that an address of IPv6 has in a URL. */
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
