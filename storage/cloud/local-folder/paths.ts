import { brokenNameRule, type Failure } from "../outcomes.ts";

/** Name of the adapter's own folder, below a connection's root. */
export const OWN_FOLDER = ".croft";

/**
 * Returns the path segments of an id, or undefined when no item can have it: an empty or dot segment, a NUL, or a path into
 * the adapter's own folder. The empty id is the root: no segments.
 */
export function toSegments(id: string): readonly string[] | undefined {
  if (id === "") return [];
  const segments = id.split("/");
  const possible = segments.every(
    (segment) => segment !== "" && segment !== "." && segment !== ".." && !segment.includes("\0"),
  );
  return possible && !isOwn(segments[0]) ? segments : undefined;
}

/** Returns the parent folder and the name of an item; undefined for the root and for invalid ids. */
export function toPlace(
  id: string,
):
  | { readonly parent: readonly string[]; readonly parentId: string; readonly name: string }
  | undefined {
  const segments = toSegments(id);
  const name = segments?.at(-1);
  if (segments === undefined || name === undefined) return undefined;
  const parent = segments.slice(0, -1);
  return { parent, parentId: parent.join("/"), name };
}

/** Returns the id of an item from its folder's id and its name. */
export function toId(parentId: string, name: string): string {
  return parentId === "" ? name : `${parentId}/${name}`;
}

/** Returns whether a name is one of the adapter's temporary names, in a folder on another disk than its own folder. */
export function isBeside(name: string): boolean {
  return /^\.croft-(upload|removal)-[a-z0-9]+-\d+-/.test(name);
}

/** Returns whether a first segment names the adapter's own folder; ignores case, as some file systems do. */
export function isOwn(segment: string | undefined): boolean {
  return segment?.toLowerCase() === OWN_FOLDER;
}

/** Refuses a name that breaks the common rules, or belongs to the adapter. */
export function refuseName(parent: string, name: string): Failure | undefined {
  const isReserved = isBeside(name) || (parent === "" && isOwn(name));
  const rule = brokenNameRule(name) ?? (isReserved ? "reserved_name" : undefined);
  return rule === undefined ? undefined : { kind: "invalid_name", rule };
}
