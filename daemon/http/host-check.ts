import type { IncomingMessage } from "node:http";

/** The hosts and origins that requests may name. */
export interface HostRules {
  /** `name` (any port) or `name:port`, lower case. */
  readonly allowedHosts: readonly string[];
  /** Origins that may send unsafe requests from a browser, besides the daemon's own. */
  readonly allowedOrigins: readonly string[];
  /** Origins of the daemon's own pages, which a proxy may serve under another name than the `Host` that it sends. */
  readonly ownOrigins: readonly string[];
}

/** A refusal before routing. */
export type HostRefusal = { readonly status: 421 | 403; readonly message: string };

const UNSAFE = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/**
 * Protects against DNS rebinding and cross-site requests: requires exactly one `Host`, an allowed one, and refuses an
 * unsafe request that a browser marks as cross-site. Clients other than browsers send neither `Origin` nor
 * `Sec-Fetch-Site`.
 */
export function createHostCheck(
  rules: HostRules,
): (request: IncomingMessage) => HostRefusal | undefined {
  const hosts = new Set(rules.allowedHosts.map((host) => host.toLowerCase()));
  const origins = new Set(rules.allowedOrigins.map((origin) => origin.toLowerCase()));
  const ownOrigins = new Set(rules.ownOrigins.map((origin) => origin.toLowerCase()));
  return (request) => {
    const host = request.headers.host?.toLowerCase() ?? "";
    if (!request.url?.startsWith("/") || hasDuplicateHost(request) || !isAllowedHost(host, hosts))
      return {
        status: 421,
        message:
          "This server does not answer for that host name. Add it to allowed_hosts (CROFT_ALLOWED_HOSTS) to allow it.",
      };
    if (!UNSAFE.has(request.method ?? "")) return undefined;
    const origin = request.headers.origin?.toLowerCase();
    if (origin !== undefined && origins.has(origin)) return undefined;
    const site = request.headers["sec-fetch-site"];
    const isForeignSite = site !== undefined && site !== "same-origin" && site !== "none";
    // A page without a referrer sends its forms with the origin "null"; the browser says itself whether it is this site's.
    const isOwnOrigin =
      origin === undefined ||
      (origin === "null" && site === "same-origin") ||
      ownOrigins.has(origin) ||
      isOriginOf(origin, host);
    if (isForeignSite || !isOwnOrigin)
      return {
        status: 403,
        message:
          "Requests from other sites are refused. Add the origin to allowed_origins (CROFT_ALLOWED_ORIGINS) to allow it.",
      };
    return undefined;
  };
}

/**
 * Rewrites a target in absolute form, which clients send to proxies and servers must accept (RFC 9112, 3.2.2), to the
 * path and query. A target whose host is not the one of `Host` stays as it is, and the check refuses it.
 */
export function rewriteAbsoluteTarget(request: IncomingMessage): void {
  const target = request.url ?? "/";
  if (target.startsWith("/")) return;
  const [, authority, path = ""] = /^https?:\/\/([^/?#]+)([/?].*)?$/i.exec(target) ?? [];
  if (authority === undefined || authority.toLowerCase() !== request.headers.host?.toLowerCase())
    return;
  request.url = path.startsWith("/") ? path : `/${path}`;
}

/** Returns the loopback names with a port, as clients write them. */
export function loopbackHosts(port: number): string[] {
  const names = ["localhost", "127.0.0.1", "[::1]"];
  const withPort = names.map((name) => `${name}:${port}`);
  // Clients omit the default port of the scheme.
  return port === 80 || port === 443 ? [...withPort, ...names] : withPort;
}

function isAllowedHost(host: string, hosts: ReadonlySet<string>): boolean {
  if (hosts.has(host)) return true;
  const match = /^(\[[0-9a-f:.]+\]|[^:/@\s]+):\d+$/.exec(host);
  const name = match?.[1];
  // An entry without a port allows all ports of that name; loopback entries always have one.
  return name !== undefined && hosts.has(name);
}

/** Returns whether an origin has the host of a `Host` header, which may name the default port of the scheme. */
function isOriginOf(origin: string, host: string): boolean {
  const [, scheme, named] = /^(https?):\/\/([^/]+)$/.exec(origin) ?? [];
  return named === host || `${named}:${scheme === "https" ? 443 : 80}` === host;
}

function hasDuplicateHost(request: IncomingMessage): boolean {
  let count = 0;
  for (let i = 0; i < request.rawHeaders.length; i += 2)
    if (request.rawHeaders[i]?.length === 4 && request.rawHeaders[i]?.toLowerCase() === "host")
      count += 1;
  return count !== 1;
}
