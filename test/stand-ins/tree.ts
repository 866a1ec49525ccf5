import { randomUUID } from "node:crypto";

/** A file or folder of a stand-in. */
export interface TreeNode {
  readonly id: string;
  readonly kind: "file" | "folder";
  name: string;
  /** The id of its folder; undefined for the root only. */
  parent: string | undefined;
  bytes: Buffer;
  /** Counts every change of the node itself. */
  revision: number;
  /** Counts changes of the bytes. */
  content: number;
  modifiedAt: number;
  /** Cannot be deleted, nor can its ancestors. */
  isLocked: boolean;
}

/** A tree with a trash, whose names ignore case and Unicode normalization. */
export interface Tree {
  readonly root: TreeNode;
  find(id: string): TreeNode | undefined;
  /** Returns the node of this name in a folder. */
  child(parent: string, name: string): TreeNode | undefined;
  children(parent: string): readonly TreeNode[];
  below(id: string): readonly TreeNode[];
  add(parent: string, name: string, kind: TreeNode["kind"], bytes?: Buffer): TreeNode;
  touch(node: TreeNode): void;
  overwrite(id: string, bytes: Uint8Array): void;
  /** Removes a node and its descendants, permanently or to the trash. */
  remove(node: TreeNode, permanently?: boolean): void;
  restoreLast(): void;
  /** Nodes that were removed into the trash, the last ones last. */
  trashed(): readonly TreeNode[];
  /** Takes one node out of the trash. */
  restore(node: TreeNode): void;
  /** Bytes of all files. */
  size(): number;
}

export function createTree(makeId: () => string = randomUUID): Tree {
  const nodes = new Map<string, TreeNode>();
  let trash: readonly TreeNode[] = [];
  const trashed = new Set<TreeNode>();
  let counter = 0;

  function make(parent: string | undefined, name: string, kind: TreeNode["kind"], bytes: Buffer) {
    const node: TreeNode = {
      id: makeId(),
      kind,
      name,
      parent,
      bytes,
      revision: ++counter,
      content: counter,
      modifiedAt: Date.now(),
      isLocked: false,
    };
    nodes.set(node.id, node);
    return node;
  }

  const tree: Tree = {
    root: make(undefined, "root", "folder", Buffer.alloc(0)),
    find: (id) => nodes.get(id),
    child: (parent, name) =>
      tree.children(parent).find((node) => foldName(node.name) === foldName(name)),
    children: (parent) => [...nodes.values()].filter((node) => node.parent === parent),
    below: (id) => tree.children(id).flatMap((node) => [node, ...tree.below(node.id)]),
    add: (parent, name, kind, bytes = Buffer.alloc(0)) => make(parent, name, kind, bytes),
    touch(node) {
      node.revision = ++counter;
      node.modifiedAt = Date.now();
    },
    overwrite(id, bytes) {
      const node = nodes.get(id);
      if (node === undefined) throw new Error("nothing to overwrite");
      node.bytes = Buffer.from(bytes);
      tree.touch(node);
      node.content = node.revision;
    },
    remove(node, permanently = false) {
      const gone = [node, ...tree.below(node.id)];
      for (const one of gone) nodes.delete(one.id);
      if (permanently) return;
      trash = gone;
      for (const one of gone) trashed.add(one);
    },
    restoreLast() {
      for (const one of trash) tree.restore(one);
      trash = [];
    },
    trashed: () => [...trashed],
    restore(node) {
      trashed.delete(node);
      nodes.set(node.id, node);
    },
    size: () => [...nodes.values()].reduce((sum, node) => sum + node.bytes.length, 0),
  };
  return tree;
}

/** Two names are one when this is equal. */
export function foldName(name: string): string {
  return name.normalize("NFC").toLowerCase();
}
