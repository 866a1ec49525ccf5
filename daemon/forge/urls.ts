/** The base URLs of absolute addresses in responses. */
export interface ForgeUrls {
  /** The configured public address without a trailing slash. */
  readonly publicUrl: () => string;
  /** The SSH address for git clients; undefined when SSH is disabled. */
  readonly sshAddress?: () => { readonly host: string; readonly port: number } | undefined;
}

const SSH_PORT = 22;

/** Returns the SSH address of a repository `owner/name`; empty when SSH is disabled. */
export function toSshUrl(urls: ForgeUrls, fullName: string): string {
  const address = urls.sshAddress?.();
  if (address === undefined) return "";
  const { host, port } = address;
  const name = host.includes(":") ? `[${host}]` : host;
  return port === SSH_PORT
    ? `git@${name}:${fullName}.git`
    : `ssh://git@${name}:${port}/${fullName}.git`;
}

/** Returns the absolute address of a path that starts with a slash. */
export const toUrl = (urls: ForgeUrls, path: string): string => `${urls.publicUrl()}${path}`;

/** Returns the absolute address of a path below `/api/v1`. */
export const toApiUrl = (urls: ForgeUrls, path: string): string =>
  `${urls.publicUrl()}/api/v1${path}`;

/** Returns the domain of placeholder e-mail addresses. */
export function toDomain(urls: ForgeUrls): string {
  return new URL(urls.publicUrl()).hostname;
}

/** Returns a time as RFC 3339 in whole seconds. */
export function toWireTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** The wire form of a time that is not set. */
export const neverTime = "1970-01-01T00:00:00Z";
/** The wire form of a time that a response leaves unset. */
export const unfilledTime = "0001-01-01T00:00:00Z";

/**
 * Returns the time of a request in epoch milliseconds. Returns undefined when it is absent or `unfilledTime`, which
 * clients written in Go send for each absent time.
 */
export function toRequestTime(time: string | null | undefined): number | undefined {
  if (time == null) return undefined;
  const epochMs = Date.parse(time);
  return epochMs === Date.parse(unfilledTime) ? undefined : epochMs;
}
