import type { ConnectFailure } from "../outcomes.ts";

/** The folder of a server that a connection shows, and its decoded path. */
export interface DavBase {
  readonly origin: string;
  /** Decoded. */
  readonly segments: readonly string[];
}

/** A path below a base, or the base itself with no segments. */
export interface DavPlace {
  readonly segments: readonly string[];
  /** A folder's URL ends in a slash; `undefined` when the kind is unknown: without. */
  readonly isFolder: boolean;
}

/** Parses a server's URL and a folder below it. */
export function toBase(
  url: string,
  root: string,
): { readonly kind: "ok"; readonly base: DavBase } | ConnectFailure {
  const invalid = (reason: string) =>
    ({ kind: "invalid_setting", setting: "url", reason }) as const;
  let parsed: URL;
  try {
    parsed = new URL(url.trim());
  } catch {
    return invalid("not_an_address");
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return invalid("not_http");
  // A password in a URL would appear in listings and logs; there is a setting for it.
  if (parsed.username !== "" || parsed.password !== "") return invalid("has_credentials");
  if (parsed.search !== "" || parsed.hash !== "") return invalid("has_query");
  const segments = decodeSegments(parsed.pathname);
  if (segments === undefined) return invalid("not_an_address");
  const below = root.split("/").filter((segment) => segment !== "");
  if (below.some((segment) => !isSegment(segment)))
    return { kind: "invalid_setting", setting: "root", reason: "not_a_path" };
  return { kind: "ok", base: { origin: parsed.origin, segments: [...segments, ...below] } };
}

/** Returns the encoded path of a place: every segment is encoded, so that no character in a name has a meaning. */
export function toPath(base: DavBase, { segments, isFolder }: DavPlace): string {
  const path = [...base.segments, ...segments]
    .map((segment) => `/${encodeURIComponent(segment)}`)
    .join("");
  return isFolder || path === "" ? `${path}/` : path;
}

export function toUrl(base: DavBase, place: DavPlace): string {
  return base.origin + toPath(base, place);
}

/**
 * Returns the decoded segments of an `href`. Servers send absolute paths or whole URLs, with or without proper encoding;
 * the host is ignored, since a proxy changes it and requests are never built from it. Undefined when a
 * segment cannot be addressed: dots, an encoded slash, invalid UTF-8.
 */
export function decodeSegments(href: string): readonly string[] | undefined {
  const path = href.trim().replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, "");
  const segments: string[] = [];
  for (const part of path.split("/")) {
    if (part === "") continue;
    const segment = decodeSegment(part);
    if (segment === undefined || !isSegment(segment)) return undefined;
    segments.push(segment);
  }
  return segments;
}

/** Returns the name of a child of `folder`; empty for the folder itself; undefined for any other path. */
export function nameBelow(
  folder: readonly string[],
  segments: readonly string[],
): string | undefined {
  if (segments.length < folder.length || segments.length > folder.length + 1) return undefined;
  if (folder.some((segment, at) => segment !== segments[at])) return undefined;
  return segments[folder.length] ?? "";
}

/** Returns the segments of an item's id, or undefined when no item can have it. The empty id is the base. */
export function toSegments(id: string): readonly string[] | undefined {
  if (id === "") return [];
  const segments = id.split("/");
  return segments.every((segment) => segment !== "" && isSegment(segment)) ? segments : undefined;
}

/** Returns the folder's segments, its id and the name of an item; undefined for the base and for invalid ids. */
export function toPlaceOf(id: string):
  | {
      readonly segments: readonly string[];
      readonly parent: readonly string[];
      readonly parentId: string;
      readonly name: string;
    }
  | undefined {
  const segments = toSegments(id);
  const name = segments?.at(-1);
  if (segments === undefined || name === undefined) return undefined;
  const parent = segments.slice(0, -1);
  return { segments, parent, parentId: parent.join("/"), name };
}

/** Escapes a per cent sign that encodes nothing: some servers encode too little. */
function decodeSegment(part: string): string | undefined {
  if (/%(?![0-9a-f]{2})/i.test(part)) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function isSegment(segment: string): boolean {
  return segment !== "." && segment !== ".." && !/[/\0]/.test(segment) && segment.isWellFormed();
}
