import { Buffer } from "node:buffer";
import { brokenNameRule, type Failure } from "../outcomes.ts";

export type Keys = ReturnType<typeof createKeys>;

/** The adapter's own folder below the root: journal and probes. Hidden in listings. */
export const OWN_FOLDER = ".croft";

const SIGN = "\u241b";
/** Longest key in bytes. */
const KEY_BYTES_MAX = 1024;

/**
 * Maps keys of objects to ids of items. An id is the key below the root; folders are common prefixes up to a slash.
 * A bucket may contain keys that are not paths: empty segments, `.` and `..`, and a file beside a folder of its name. Such
 * segments are marked with the sign `␛`; they can be read, moved and deleted, but not created:
 * `␛` before a segment that is not a valid name, `␛` after the folder that shares its name with a file.
 */
export function createKeys(root: string) {
  return {
    /** Prefix of all keys: empty, or ends in a slash. */
    root,
    /** Returns the key of a file, or undefined when no file can have this id. */
    toFileKey: (id: string): string | undefined => {
      const segments = id.split("/");
      if (!isPath(segments) || isOwn(id)) return undefined;
      const last = segments.at(-1) ?? "";
      // A key that ends in a slash is a folder's marker, even with content.
      if (isShadow(last) || last === SIGN) return undefined;
      return fit(root + segments.map(toSegment).join("/"));
    },
    /** Returns the key prefix of a folder's contents; the root's for the empty id. */
    toFolderPrefix: (id: string): string | undefined => {
      if (id === "") return root;
      const segments = id.split("/");
      return !isPath(segments) || isOwn(id)
        ? undefined
        : fit(`${root}${segments.map(toSegment).join("/")}/`);
    },
    /** Returns the id of an object from its key, which begins with the root's prefix. */
    toId: (key: string): string => key.slice(root.length).split("/").map(toName).join("/"),
  };
}

/** Returns the id of an item in a folder. */
export function childOf(parent: string, name: string): string {
  return parent === "" ? name : `${parent}/${name}`;
}

/** Splits an id into its folder and name. */
export function splitId(id: string): { readonly parent: string; readonly name: string } {
  const at = id.lastIndexOf("/");
  return { parent: id.slice(0, Math.max(at, 0)), name: id.slice(at + 1) };
}

/** Returns the displayed name of a folder beside a file of the same name. */
export function toShadow(id: string): string {
  return id + SIGN;
}

/** Returns why an item cannot be created under this name; undefined when it can. */
export function refuseName(root: string, parent: string, name: string): Failure | undefined {
  const rule = brokenNameRule(name) ?? ownRule(root, parent, name);
  return rule === undefined ? undefined : { kind: "invalid_name", rule };
}

function ownRule(root: string, parent: string, name: string): string | undefined {
  if ((parent === "" && name === OWN_FOLDER) || name.startsWith(SIGN) || name.endsWith(SIGN))
    return "reserved_name";
  // A folder's marker and a multipart upload's journal need one more character, the slash.
  const length = Buffer.byteLength(root) + Buffer.byteLength(childOf(parent, name)) + 1;
  return length > KEY_BYTES_MAX ? "path_too_long" : undefined;
}

/** Marks a segment that is not a valid name with the sign, so that every key has one id. */
function isPath(segments: readonly string[]): boolean {
  return segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
}

function isOwn(id: string): boolean {
  return id === OWN_FOLDER || id.startsWith(`${OWN_FOLDER}/`);
}

function isShadow(name: string): boolean {
  return name.endsWith(SIGN) && !name.startsWith(SIGN);
}

function toName(segment: string): string {
  const isOdd =
    segment === "" ||
    segment === "." ||
    segment === ".." ||
    segment.startsWith(SIGN) ||
    segment.endsWith(SIGN);
  return isOdd ? SIGN + segment : segment;
}

function toSegment(name: string): string {
  if (name.startsWith(SIGN)) return name.slice(1);
  return isShadow(name) ? name.slice(0, -1) : name;
}

function fit(key: string): string | undefined {
  return Buffer.byteLength(key) > KEY_BYTES_MAX || !key.isWellFormed() ? undefined : key;
}
