/** Name of the folder below a connection's root in which the adapter keeps its own things. */
export const OWN_FOLDER = ".croft";

/**
 * The path segments of an id, or undefined when no item can have it: an empty or dot segment, a NUL, a way into the
 * adapter's own folder. The empty id is the root: no segments.
 */
export function toSegments(id: string): readonly string[] | undefined {
  if (id === "") return [];
  const segments = id.split("/");
  const possible = segments.every(
    (segment) => segment !== "" && segment !== "." && segment !== ".." && !segment.includes("\0"),
  );
  return possible && !isOwn(segments[0]) ? segments : undefined;
}

/** The folder and the name of an item; undefined for the root and for impossible ids. */
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

/** The id of an item by its folder's id and its name. */
export function toId(parentId: string, name: string): string {
  return parentId === "" ? name : `${parentId}/${name}`;
}

/** Whether a name is a temporary one of the adapter's in a folder that lies on another disk than its own folder. */
export function isBeside(name: string): boolean {
  return /^\.croft-(upload|removal)-[a-z0-9]+-\d+-/.test(name);
}

/** Whether a first segment names the adapter's own folder; a file system that ignores case must not open it either. */
export function isOwn(segment: string | undefined): boolean {
  return segment?.toLowerCase() === OWN_FOLDER;
}
