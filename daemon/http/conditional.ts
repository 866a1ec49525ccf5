import type { IncomingHttpHeaders } from "node:http";

/** The validators of one version of a response (RFC 9110, 8.8). */
export interface Validators {
  /** The entity tag as it is sent: quoted, with `W/` in front when it is weak. */
  readonly etag?: string | undefined;
  readonly lastModified?: Date | undefined;
}

/**
 * Returns whether a client already has the version that it asks for, so that 304 is the response (RFC 9110, 13.1).
 * `If-None-Match` takes precedence over `If-Modified-Since` and compares weakly.
 */
export function isNotModified(
  { method, headers }: { readonly method: string; readonly headers: IncomingHttpHeaders },
  { etag, lastModified }: Validators,
): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  const noneMatch = headers["if-none-match"];
  if (noneMatch !== undefined) {
    if (noneMatch.trim() === "*") return true;
    return etag !== undefined && noneMatch.split(",").some((tag) => opaque(tag) === opaque(etag));
  }
  const since = modifiedSince(headers);
  return (
    since !== undefined && lastModified !== undefined && wholeSeconds(lastModified) <= Number(since)
  );
}

/** Returns the date of `If-Modified-Since`; undefined when it is missing, invalid or overruled by `If-None-Match`. */
export function modifiedSince(headers: IncomingHttpHeaders): Date | undefined {
  const since = headers["if-modified-since"];
  if (since === undefined || headers["if-none-match"] !== undefined) return undefined;
  const date = new Date(since);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Returns whether `If-Range` names this very version, so that a range may be served (RFC 9110, 13.1.5). */
export function isSameVersion(ifRange: string, { etag, lastModified }: Validators): boolean {
  if (ifRange.startsWith('"')) return ifRange === etag;
  // A weak tag never matches: its bytes may differ.
  if (ifRange.startsWith("W/") || lastModified === undefined) return false;
  return wholeSeconds(lastModified) === Date.parse(ifRange);
}

function opaque(tag: string): string {
  return tag.trim().replace(/^W\//, "");
}

/** Dates in headers have no fractions of a second. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000;
}
