import type { OwnedRepository } from "../events.ts";
import { type ForgeUrls, toApiUrl, toUrl } from "../urls.ts";
import type { Revision } from "./revisions.ts";

/** The addresses in responses about code. */
export interface CodeAddresses {
  /** The repository's page and its API, without a trailing slash. */
  readonly html: string;
  readonly api: string;
}

export function toCodeAddresses(
  { owner, repository }: OwnedRepository,
  urls: ForgeUrls,
): CodeAddresses {
  const fullName = `${owner.name}/${repository.name}`;
  return { html: toUrl(urls, `/${fullName}`), api: toApiUrl(urls, `/repos/${fullName}`) };
}

/** Encodes the segments of a path or of a name with slashes; the slashes stay. */
export function toSegments(path: string): string {
  return path
    .split("/")
    .map((segment) => encodeURIComponent(segment.toWellFormed()))
    .join("/");
}

/** Returns how pages name a revision: `branch/main`, `tag/v1`, `commit/…`. */
export function toRevisionSegments({ kind, name }: Revision): string {
  return `${kind}/${toSegments(name)}`;
}

/** Returns the first element of a list that is not empty. */
export function getFirst<T>(list: readonly T[]): T {
  const [first] = list;
  if (first === undefined) throw new Error("a list that has one element is empty");
  return first;
}
