import type { IncomingMessage } from "node:http";
import type { Settings } from "../settings/settings.ts";
import { createHostCheck, loopbackHosts, type HostRefusal } from "./host-check.ts";

export type Addresses = ReturnType<typeof createAddresses>;

/** The daemon's own addresses; all are known only once it listens. */
export function createAddresses(settings: Settings) {
  let urls: readonly string[] = [];
  let check = toCheck(settings, urls);
  let sshPort: number | undefined;
  let sshListeningPort: number | undefined;
  const publicUrl = () =>
    trimmed(settings.publicUrl ?? urls[0] ?? `http://${settings.host}:${settings.port}`);
  return {
    /** Called once, when the ports are known. */
    listening: (listeningUrls: readonly string[]): void => {
      urls = listeningUrls;
      check = toCheck(settings, urls);
    },
    /** Base of all links in responses and mails, without a trailing slash. Never derived from a request's Host. */
    publicUrl,
    /** Called once, when SSH listens. */
    listeningSsh: (port: number): void => {
      sshListeningPort = port;
      sshPort = settings.sshPublicPort ?? port;
    },
    /** The SSH address for git clients; undefined when SSH is disabled. */
    ssh: (): { readonly host: string; readonly port: number } | undefined =>
      sshPort === undefined ? undefined : { host: bareHost(new URL(publicUrl())), port: sshPort },
    /** The names and addresses that a certificate of this daemon is for. */
    names: (): readonly string[] => namesOf(settings),
    /** Where the daemon itself listens: it refuses to send requests to these addresses. */
    own: (): readonly { readonly address: string; readonly port: number }[] =>
      urls
        .map((url) => new URL(url))
        .flatMap((url) =>
          [portOf(url), sshListeningPort]
            .filter((port) => port !== undefined)
            .map((port) => ({ address: bareHost(url), port })),
        ),
    /** Base of the links to pages, such as the one in a password-reset mail. */
    frontendUrl: (): string => trimmed(settings.frontendUrl ?? publicUrl()),
    /** Returns whether the host and origin of a request are allowed. */
    checkHost: (request: IncomingMessage): HostRefusal | undefined => check(request),
  };
}

function namesOf(settings: Settings): string[] {
  const configuredUrls = [settings.publicUrl, settings.frontendUrl].filter(
    (url) => url !== undefined,
  );
  return [
    ...new Set([
      settings.host,
      ...configuredUrls.map((url) => bareHost(new URL(url))),
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
  const configuredUrls = [settings.publicUrl, settings.frontendUrl].filter(
    (url) => url !== undefined,
  );
  return createHostCheck({
    allowedHosts: [
      ...own.flatMap((url) => [url.host, ...loopbackHosts(portOf(url))]),
      ...configuredUrls.map((url) => new URL(url).host),
      ...settings.allowedHosts.map((host) => (host.includes(":") ? `[${host}]` : host)),
    ],
    allowedOrigins: settings.allowedOrigins,
    ownOrigins: configuredUrls.map((url) => new URL(url).origin),
  });
}

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, "");
}
