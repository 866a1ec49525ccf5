import { createHash } from "node:crypto";
import { foldName } from "./tree.ts";

/** A file or folder of a DAV stand-in. */
export interface DavNode {
  readonly id: number;
  readonly kind: "file" | "folder";
  name: string;
  parent: DavNode | undefined;
  /** By name, or by folded name where spellings are one. */
  readonly children: Map<string, DavNode>;
  bytes: Buffer;
  /** Grows with every change of the bytes; of a folder with every change below it. */
  revision: number;
  /** Epoch milliseconds; responses have whole seconds. */
  modifiedAt: number;
  /** When it was really written. */
  writtenAt: number;
  isLocked: boolean;
}

/** A tree of paths. */
export interface DavStore {
  readonly root: DavNode;
  find(segments: readonly string[]): DavNode | undefined;
  add(parent: DavNode, name: string, kind: DavNode["kind"], bytes?: Buffer): DavNode;
  write(node: DavNode, bytes: Buffer, modifiedAt?: number): void;
  /** Removes a node and its descendants. */
  detach(node: DavNode): void;
  attach(node: DavNode, parent: DavNode, name: string): void;
  /** Makes folders down to a path. */
  ensure(segments: readonly string[]): DavNode;
  pathOf(node: DavNode): readonly string[];
  all(node: DavNode): readonly DavNode[];
  tagOf(node: DavNode): string;
}

/** Creates an empty one. */
export function createDavStore(options: {
  readonly mixesSpellings?: boolean;
  /** Stores names in NFC, regardless of the request. */
  readonly composes?: boolean;
  /** A change within the second of the one before keeps the tag, whatever its size, as on Nextcloud. */
  readonly keepsTagsForASecond?: boolean;
  readonly clock: () => number;
}): DavStore {
  const { clock } = options;
  let counter = 0;
  const spell = (name: string) => (options.composes === true ? name.normalize("NFC") : name);
  const keyOf = (name: string) => (options.mixesSpellings === true ? foldName(name) : spell(name));

  function make(kind: DavNode["kind"], bytes: Buffer): DavNode {
    const now = clock();
    return {
      id: ++counter,
      kind,
      name: "",
      parent: undefined,
      children: new Map(),
      bytes,
      revision: ++counter,
      modifiedAt: now,
      writtenAt: now,
      isLocked: false,
    };
  }

  function touchAbove(node: DavNode): void {
    for (let at = node.parent; at !== undefined; at = at.parent) at.revision = ++counter;
  }

  const store: DavStore = {
    root: make("folder", Buffer.alloc(0)),
    find(segments) {
      let node: DavNode | undefined = store.root;
      for (const segment of segments) node = node?.children.get(keyOf(segment));
      return node;
    },
    add(parent, name, kind, bytes = Buffer.alloc(0)) {
      const node = make(kind, bytes);
      store.attach(node, parent, name);
      return node;
    },
    write(node, bytes, modifiedAt) {
      const before = node.modifiedAt;
      node.bytes = bytes;
      node.writtenAt = clock();
      node.modifiedAt = modifiedAt ?? node.writtenAt;
      const isSameSecond = Math.floor(before / 1000) === Math.floor(node.modifiedAt / 1000);
      if (options.keepsTagsForASecond !== true || !isSameSecond) node.revision = ++counter;
      touchAbove(node);
    },
    detach(node) {
      node.parent?.children.delete(keyOf(node.name));
      touchAbove(node);
      node.parent = undefined;
    },
    attach(node, parent, name) {
      node.name = spell(name);
      node.parent = parent;
      parent.children.set(keyOf(name), node);
      touchAbove(node);
    },
    ensure(segments) {
      let node = store.root;
      for (const segment of segments)
        node = node.children.get(keyOf(segment)) ?? store.add(node, segment, "folder");
      return node;
    },
    pathOf: (node) => (node.parent === undefined ? [] : [...store.pathOf(node.parent), node.name]),
    all: (node) => [node, ...[...node.children.values()].flatMap((child) => store.all(child))],
    tagOf: (node) => createHash("md5").update(`${node.id}:${node.revision}`).digest("hex"),
  };
  return store;
}
