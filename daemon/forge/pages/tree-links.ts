import type { WireContents } from "../../contract/forge/code/contents.ts";

// Where symbolic links and submodules of a commit lead. Both are texts that a user pushed; neither is followed on disk.

/** A file or folder of a commit. */
export interface LinkEntry {
  readonly type: WireContents["type"];
  readonly size: number;
  readonly sha: string;
  /** The target of a symbolic link. */
  readonly target: string | null;
}

/** The end of a chain of symbolic links. */
export interface FollowedLink {
  readonly path: string;
  readonly entry: LinkEntry;
}

/** Maximum number of entries that are looked up to follow a link, which ends cycles. */
const LOOKUPS_MAX = 24;

/**
 * Follows a symbolic link of a commit to a file, folder or submodule of the same commit, also through links to folders.
 * Returns undefined for a link that is absolute, circular or dangling, leaves the repository, or needs too many lookups.
 * `read` returns undefined for a missing path.
 */
export async function followLink(
  link: { readonly path: string; readonly target: string | null },
  read: (path: string) => Promise<LinkEntry | undefined>,
): Promise<FollowedLink | undefined> {
  let lookups = 0;
  const look = async (path: string) => {
    lookups += 1;
    return lookups > LOOKUPS_MAX ? undefined : read(path);
  };
  let folder = toParent(link.path.split("/"));
  let rest = toLinkSegments(link.target);
  for (;;) {
    while (rest[0] === "..") {
      if (folder.length === 0) return undefined;
      folder = toParent(folder);
      rest = rest.slice(1);
    }
    if (rest.length === 0) return undefined;
    // `a/..` is the parent of what `a` leads to, so segments are joined up to the next `..` only.
    const next = rest.indexOf("..");
    const found = await findFirst(folder, next === -1 ? rest : rest.slice(0, next), look);
    if (found === undefined) return undefined;
    const { segments, taken, entry } = found;
    rest = rest.slice(taken);
    if (entry.type === "symlink") {
      const target = toLinkSegments(entry.target);
      if (target.length === 0) return undefined;
      folder = toParent(segments);
      rest = [...target, ...rest];
      continue;
    }
    if (rest.length === 0) return { path: segments.join("/"), entry };
    if (entry.type !== "dir") return undefined;
    folder = segments;
  }
}

/** Finds the entry at a path, or the first symbolic link above it, with the number of segments that lead there. */
async function findFirst(
  folder: readonly string[],
  names: readonly string[],
  look: (path: string) => Promise<LinkEntry | undefined>,
) {
  const whole = [...folder, ...names];
  const entry = await look(whole.join("/"));
  if (entry !== undefined) return { segments: whole, taken: names.length, entry };
  for (let taken = 1; taken < names.length; taken += 1) {
    const segments = whole.slice(0, folder.length + taken);
    const above = await look(segments.join("/"));
    if (above === undefined) return undefined;
    if (above.type === "symlink") return { segments, taken, entry: above };
  }
  return undefined;
}

const toParent = (segments: readonly string[]) => segments.slice(0, -1);

/** Returns the segments of a relative target; none of another one. */
function toLinkSegments(target: string | null): string[] {
  if (target === null || target.startsWith("/")) return [];
  return target.split("/").filter((segment) => segment !== "" && segment !== ".");
}

/** Where a submodule comes from. */
export interface SubmoduleSource {
  /** The address without a password. */
  readonly text: string;
  /** Only of addresses of http and https, and of repositories of this server. */
  readonly href: string | undefined;
}

/**
 * Returns the source of a submodule. A relative address is resolved against that of the repository, in every folder
 * alike, as git does.
 */
export function toSubmoduleSource(
  address: string,
  repository: { readonly owner: string; readonly name: string },
): SubmoduleSource {
  if (/^\.\.?\//.test(address)) {
    const path = resolveAddress(address, repository);
    return { text: address, href: path && `/${path.map(encodeURIComponent).join("/")}` };
  }
  if (!address.includes("://")) return { text: address, href: undefined };
  const url = URL.parse(address);
  if (url === null) return { text: withoutUser(address), href: undefined };
  const isWeb = url.protocol === "https:" || url.protocol === "http:";
  if (!isWeb && url.password === "") return { text: address, href: undefined };
  url.password = "";
  if (isWeb) url.username = "";
  return { text: url.href, href: isWeb ? url.href : undefined };
}

const withoutUser = (address: string) => address.replace(/:\/\/[^/]*@/, "://");

/** Returns the owner and name of a relative address; undefined for one that cannot be a repository of this server. */
function resolveAddress(
  address: string,
  { owner, name }: { readonly owner: string; readonly name: string },
): readonly [string, string] | undefined {
  const path = [owner, name];
  for (const segment of address.split("/").filter((each) => each !== "" && each !== ".")) {
    if (segment !== "..") path.push(segment);
    else if (path.pop() === undefined) return undefined;
  }
  const [ofOwner, ofName, ...more] = path;
  const bare = ofName?.replace(/\.git$/i, "") ?? "";
  if (ofOwner === undefined || bare === "" || more.length > 0) return undefined;
  return [ofOwner, bare];
}
