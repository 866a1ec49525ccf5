import type { IncomingMessage } from "node:http";
import type { Settings } from "./contract/settings.ts";
import { createHostCheck, loopbackHosts, type HostRefusal } from "./http/host-check.ts";

/** The daemon's own addresses: known in full only once it listens. */
export interface Addresses {
  /** Told once, when the ports are known. */
  listening(urls: readonly string[]): void;
  /** Base of every link that is handed out, without a trailing slash. Never made from a request's Host. */
  publicUrl(): string;
  /** Base of the links to pages, such as the one in a password-reset mail. */
  frontendUrl(): string;
  /** Whether a request is for this daemon and comes from where it may. */
  checkHost(request: IncomingMessage): HostRefusal | undefined;
}

export function createAddresses(settings: Settings): Addresses {
  let urls: readonly string[] = [];
  let check = toCheck(settings, urls);
  const publicUrl = () => trimmed(settings.publicUrl ?? urls[0] ?? `http://${settings.host}:${settings.port}`);
  return {
    listening: (known) => {
      urls = known;
      check = toCheck(settings, urls);
    },
    publicUrl,
    frontendUrl: () => trimmed(settings.frontendUrl ?? publicUrl()),
    checkHost: (request) => check(request),
  };
}

function toCheck(settings: Settings, urls: readonly string[]) {
  const own = urls.map((url) => new URL(url));
  const named = [settings.publicUrl, settings.frontendUrl].filter((url) => url !== undefined);
  return createHostCheck({
    allowedHosts: [
      ...own.flatMap((url) => [url.host, ...loopbackHosts(portOf(url))]),
      ...named.map((url) => new URL(url).host),
      ...settings.allowedHosts,
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
