// daemon/vault/dav: the WebDAV server (RFC 4918). Start here (what all folders have in common), then dav-handler.ts (a request).
// connection-tree.ts and document-tree.ts are thin: the services of the API do the work.
import type { Readable } from "node:stream";
import type { PropertyHolder } from "../../../storage/tables/vault/dav-properties.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import type { DavPath } from "./target.ts";

/** New bytes for a file. */
export interface DavUpload {
  readonly content: Readable;
  /** Undefined when it is only known at the end. */
  readonly size: number | undefined;
  /** Undefined when the client did not say. */
  readonly contentType: string | undefined;
}

/** Reverses a change. */
export type Undo = () => Promise<void>;

interface Common {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt?: number | undefined;
  readonly modifiedAt?: number | undefined;
  /** The row that has the properties of clients; undefined where none can be set. */
  readonly holder: PropertyHolder | undefined;
  /** Whether the folder always exists, and cannot be moved or deleted. */
  readonly isFixed?: boolean;
  /**
   * Deletes it, with everything below it: to the trash where there is one. `onlyThis` refuses with 412 when a storage has
   * another version by now.
   */
  remove(onlyThis?: boolean): Promise<void>;
  /**
   * Gives it another path in its own space, at which there is nothing. Undefined if it stays where it is: a copy and a
   * deletion then do the same. `onlyThis` refuses with 412 when a storage has another version by now. May return a
   * function that moves it back to where it was.
   */
  readonly move?: ((to: DavPath, onlyThis?: boolean) => Promise<Undo | undefined>) | undefined;
  /** Whether another resource may have its name at the same time, so that nothing must free the name first. */
  readonly sharesName?: boolean;
}

export interface DavFile extends Common {
  readonly kind: "file";
  /** Identifies it at every path where it is; undefined where it has one path. */
  readonly id?: string;
  readonly size: number | undefined;
  readonly contentType: string | undefined;
  /** A strong entity tag without quotes; undefined if other bytes could get the same. */
  readonly etag: string | undefined;
  /** Whether it is a file of Finder or Explorer beside the others, which is in no storage and may vanish. */
  readonly isJunk?: boolean;
  open(): Promise<BytesAnswer>;
  /** Replaces the bytes in one step. `onlyThis` refuses with 412 when they are no longer those of `etag`. */
  replace(upload: DavUpload, onlyThis: boolean): Promise<DavFile>;
}

export interface DavFolder extends Common {
  readonly kind: "folder";
  /** What can be created in it; files and folders when absent. */
  readonly takes?: "file" | "folder" | "nothing";
  /** The longest name in it, in characters; where it is absent, only the storage has a limit. */
  readonly nameMax?: number;
  /** Returns what has this name in the folder. */
  find(name: string): Promise<DavResource | undefined>;
  /** Returns everything in the folder, by pages. */
  list(): AsyncIterable<readonly DavResource[]>;
  /** Creates a file at a name that is free. */
  createFile(name: string, upload: DavUpload): Promise<DavFile>;
  /** Creates a folder at a name that is free. */
  createFolder(name: string): Promise<void>;
  /** Deletes it if there is nothing in it by now; returns whether it did. */
  removeIfEmpty(): Promise<boolean>;
  /** Deletes it when another folder has taken its place. Without it, `remove` does that. */
  discard?(): Promise<void>;
  /** The bytes that are used and free in its space; undefined if unknown. */
  quota?(): Promise<{ readonly used: number; readonly free: number } | undefined>;
}

export type DavResource = DavFile | DavFolder;

/** The mounted spaces by their names: the folders of the root. */
export interface DavSpace {
  /** What places of locks begin with. It stays when the name changes. */
  readonly id: string;
  readonly name: string;
  open(): DavFolder;
}

/** Returns a name that can be a segment of an address. */
function toSegment(name: string): string {
  const plain = name
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/[/\\\p{Cc}]/gu, "-");
  return plain === "" || plain === "." || plain === ".." ? "-" : plain;
}

/** Names things by segments that differ: the first of a name keeps it, the others get a number. */
export function toSegments<T>(
  things: readonly T[],
  nameOf: (thing: T) => string,
  taken: readonly string[] = [],
): ReadonlyMap<string, T> {
  const named = new Map<string, T>();
  for (const thing of things) {
    const name = toSegment(nameOf(thing));
    let free = name;
    for (let count = 2; named.has(free) || taken.includes(free); count += 1)
      free = `${name} ${count}`;
    named.set(free, thing);
  }
  return named;
}

/** Splits a name before its last dot. */
export function splitExtension(filename: string): { stem: string; extension: string } {
  const dot = filename.lastIndexOf(".");
  return dot <= 0
    ? { stem: filename, extension: "" }
    : { stem: filename.slice(0, dot), extension: filename.slice(dot) };
}
