import type { RenderMode } from "../document.ts";

/** Bases for the relative links, images and references of a document. */
export interface RenderContext {
  /** The instance's public address, with a trailing slash. */
  readonly root: string;
  /** The document's repository; undefined when the context has none. */
  readonly repository: { readonly owner: string; readonly name: string } | undefined;
  /** Absolute base of links to pages, without a trailing slash. */
  readonly pageBase: string;
  /** Absolute base of images and videos, without a trailing slash. */
  readonly mediaBase: string;
  /** Folder of the document below both bases, percent-encoded, such as `docs/user%20guide`, or empty. */
  readonly folder: string;
}

/**
 * Parses the `Context` and `FilePath` of a request: `/{owner}/{repo}` or
 * `/{owner}/{repo}/src/{branch|commit|tag}/{ref…}`, which is the path of a page, so that the ref is percent-encoded.
 * `FilePath` is the plain path of a file. Any other context has no repository.
 */
export function toRenderContext(input: {
  readonly root: string;
  readonly mode: RenderMode;
  readonly context: string;
  readonly filePath: string;
}): RenderContext {
  const { root, mode } = input;
  const base = root.replace(/\/$/, "");
  const folder = input.filePath.includes("/")
    ? escapePath(cleanPath(input.filePath.slice(0, input.filePath.lastIndexOf("/"))))
    : "";
  const place = parseContext(stripSubPath(input.context, new URL(root).pathname), folder);
  const repository = place === undefined ? "" : `/${place.owner}/${place.name}`;
  const known = place === undefined ? undefined : { owner: place.owner, name: place.name };
  const shared = { root: `${base}/`, repository: known };
  switch (mode) {
    case "wiki":
      return {
        ...shared,
        pageBase: `${base}${repository}/wiki`,
        mediaBase: `${base}${repository}/wiki/raw`,
        folder: "",
      };
    case "comment":
      return {
        ...shared,
        pageBase: `${base}${repository}`,
        mediaBase: `${base}${repository}`,
        folder: "",
      };
    case "markdown":
    case "gfm":
    case "code":
    case "file": {
      const ref = place?.ref === undefined ? "" : `/${place.ref}`;
      const media = place === undefined ? "/src" : `${repository}/media${ref}`;
      return {
        ...shared,
        pageBase: `${base}${repository}/src${ref}`,
        mediaBase: `${base}${media}`,
        folder,
      };
    }
  }
}

/**
 * Returns the absolute URL of a link, resolved against the document's folder, or against the base when it begins with a
 * slash; never above the base. Links with a scheme or host, and empty or invalid ones, keep their target. Blanks are
 * percent-encoded, as browsers do (WHATWG URL, "path state").
 */
export function resolveLink(context: RenderContext, kind: "page" | "media", link: string): string {
  const repaired = escapeBlanks(link);
  if (
    repaired === "" ||
    /^[a-z][a-z0-9+.-]*:/i.test(repaired) ||
    repaired.startsWith("//") ||
    /%(?![0-9a-f]{2})/i.test(repaired)
  )
    return repaired;
  const base = kind === "page" ? context.pageBase : context.mediaBase;
  const [, path = "", rest = ""] = /^([^?#]*)(.*)$/s.exec(repaired) ?? [];
  const { origin, pathname } = new URL(base);
  const basePath = base.slice(origin.length);
  if (path.startsWith("/")) {
    const isBelowBase = path === basePath || path.startsWith(`${basePath}/`);
    if (isBelowBase && pathname.split("/").length > 4) return `${origin}${path}${rest}`;
    return join(base, cleanPath(path)) + rest;
  }
  return join(base, cleanPath(`${context.folder}/${path}`)) + rest;
}

/** Resolves the address of each image of a `srcset`; keeps its width or density. */
export function resolveImageSet(context: RenderContext, value: string): string {
  return splitImageSet(value)
    .filter((candidate) => candidate !== "")
    .map((candidate) => {
      const [address = "", ...descriptors] = candidate.split(/\s+/);
      return [resolveLink(context, "media", address), ...descriptors].join(" ");
    })
    .join(", ");
}

/**
 * Splits a `srcset` into candidates (an address, a width or density). A comma ends a candidate when a blank follows it
 * or a descriptor precedes it; other commas belong to the address.
 */
export function splitImageSet(value: string): readonly string[] {
  return value.split(/,\s+|(?<=\s[\d.]{1,10}[wx]\s?),/).map((candidate) => candidate.trim());
}

/** Removes the line breaks and outer blanks of an address and encodes its inner blanks (WHATWG URL). */
function escapeBlanks(link: string): string {
  return link
    .trim()
    .replace(/[\t\n\r]/g, "")
    .replace(/[\s\p{Zl}\p{Zp}]/gu, encodeURIComponent);
}

/** Percent-encodes the segments of a path as a browser shows them. */
export function escapePath(path: string): string {
  return encodeURI(path.toWellFormed()).replace(/[?#]/g, encodeURIComponent);
}

/** Returns the id in rendered HTML for an author's id, which gets a prefix. */
export function toFragment(name: string): string {
  return /^(?:fn(?:ref\d*)?:)?user-content-/.test(name) ? name : `user-content-${name}`;
}

function join(base: string, path: string): string {
  return path === "" ? base : `${base}/${path}`;
}

function cleanPath(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment === "..") segments.pop();
    else segments.push(segment);
  }
  return segments.join("/");
}

function stripSubPath(context: string, subPath: string): string {
  const prefix = subPath.replace(/\/$/, "");
  return prefix !== "" && context.startsWith(`${prefix}/`) ? context.slice(prefix.length) : context;
}

function parseContext(context: string, folder: string) {
  const segment = "[\\w.-]+";
  const found = new RegExp(
    `^/(${segment})/(${segment})(?:/src/((?:branch|commit|tag)/[^\\s?#"<>]+))?/?$`,
  ).exec(context);
  if (found === null) return undefined;
  const [, owner = "", name = "", written] = found;
  const ref =
    written === undefined ? undefined : escapeInvalidPercents(written.replace(/\/+$/, ""));
  const isTail = folder !== "" && ref?.endsWith(`/${folder}`) === true;
  return { owner, name, ref: isTail ? ref?.slice(0, -folder.length - 1) : ref };
}

function escapeInvalidPercents(path: string): string {
  return path.replace(/%(?![0-9a-f]{2})/gi, "%25");
}
