import { itemName } from "../../contract/vault/cloud/shapes.ts";
import { DavRefusal } from "./refusals.ts";

/** The address below which the WebDAV server is. */
const DAV_ROOT = "/dav";

/**
 * Names of folders from the root of the server down to a file or folder, decoded. In the form of Unicode that the client has
 * sent: a storage may hold names in each, and two that differ in nothing else.
 */
export type DavPath = readonly string[];

const PATH_BYTES_MAX = 8_192;
const SEGMENTS_MAX = 128;

/**
 * Decodes the path of an address, once. Refuses a path with an encoded slash, a control character, a dot segment or a
 * fragment: no name has them, and another program on the way might read them as another path.
 */
export function toDavPath(pathname: string): DavPath {
  if (Buffer.byteLength(pathname) > PATH_BYTES_MAX)
    throw new DavRefusal(414, "The address is too long.");
  if (/[#?]/.test(pathname)) throw new DavRefusal(400, "The address has a fragment or a query.");
  const segments = pathname.slice(DAV_ROOT.length).split("/").filter(Boolean).map(decodeSegment);
  if (segments.length > SEGMENTS_MAX)
    throw new DavRefusal(414, "The address has too many folders.");
  return segments;
}

function decodeSegment(segment: string): string {
  let name: string;
  try {
    name = decodeURIComponent(segment);
  } catch (error) {
    throw new DavRefusal(400, "The address is not percent-encoded UTF-8.", { cause: error });
  }
  if (name === "." || name === ".." || /[/\p{Cc}]/u.test(name))
    throw new DavRefusal(400, "The address holds a name that no file can have.");
  return name;
}

/** Returns the last name of a path for something that is created. Refuses a name that no storage has. */
export function toNewName(path: DavPath): string {
  const name = itemName.safeParse(path.at(-1) ?? "");
  if (!name.success) throw new DavRefusal(403, "This name is too long, or no file can have it.");
  return name.data;
}

export type DavAddresses = ReturnType<typeof createDavAddresses>;

/**
 * Returns the addresses as the client of a request sees them.
 * @param publicUrl may have a path, which a proxy removes
 */
export function createDavAddresses(publicUrl: string, host: string | undefined) {
  const base = URL.parse(publicUrl);
  const prefix = (base?.pathname ?? "").replace(/\/+$/, "");
  const hosts = new Set([host?.toLowerCase(), base?.host.toLowerCase()]);
  return {
    /** The address of a path as responses have it: absolute, without the host. */
    toHref: (path: DavPath, isFolder: boolean): string =>
      `${prefix}${DAV_ROOT}/${path.map(encodeURIComponent).join("/")}${isFolder && path.length > 0 ? "/" : ""}`,
    /** Reads an address of this server in a header. Refuses another server with 502. */
    parse(address: string): DavPath {
      const [, authority, rest = address] =
        /^https?:\/\/([^/?#]*)(.*)$/is.exec(address.trim()) ?? [];
      if (authority !== undefined && !hosts.has(authority.toLowerCase()))
        throw new DavRefusal(502, "The destination is on another server.");
      const inside = [prefix + DAV_ROOT, DAV_ROOT].find(
        (root) => rest === root || rest.startsWith(`${root}/`),
      );
      if (inside === undefined)
        throw new DavRefusal(502, "The destination is outside of the WebDAV server.");
      return toDavPath(DAV_ROOT + rest.slice(inside.length));
    },
  };
}

/** Returns the forms in which something may have a name, that of the client first. */
export function toSpellings(name: string): readonly string[] {
  return [...new Set([name, name.normalize("NFC"), name.normalize("NFD")])];
}

/** Returns whether a path is that of something below a folder, or may be. */
export function isBelow(path: DavPath, folder: DavPath): boolean {
  return path.length > folder.length && startsWith(path, folder);
}

/** Returns whether two paths are those of one file or folder, or may be. */
export function isSamePath(one: DavPath, other: DavPath): boolean {
  return one.length === other.length && startsWith(one, other);
}

function startsWith(path: DavPath, folder: DavPath): boolean {
  return folder.every((name, at) => path[at]?.normalize("NFC") === name.normalize("NFC"));
}
