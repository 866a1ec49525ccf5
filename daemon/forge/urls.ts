/** Makes the absolute addresses that answers carry. */
export interface ForgeUrls {
  /** The configured public address without a trailing slash. */
  readonly publicUrl: () => string;
}

/** Absolute address of a path that starts with a slash. */
export const toUrl = (urls: ForgeUrls, path: string): string => `${urls.publicUrl()}${path}`;

/** Absolute address below `/api/v1`. */
export const toApiUrl = (urls: ForgeUrls, path: string): string =>
  `${urls.publicUrl()}/api/v1${path}`;

/** The host that placeholder addresses are made with. */
export function toDomain(urls: ForgeUrls): string {
  return new URL(urls.publicUrl()).hostname;
}

/** RFC 3339 in whole seconds, as stored times go out. */
export function toWireTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** A stored time that was never set. */
export const neverTime = "1970-01-01T00:00:00Z";
/** A time that an answer deliberately does not fill. */
export const unfilledTime = "0001-01-01T00:00:00Z";
