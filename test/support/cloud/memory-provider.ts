import { Readable } from "node:stream";
import { StreamAborted, brokenNameRule, type Failure } from "../../../storage/cloud/outcomes.ts";
import type {
  CloudProvider,
  CloudProviderType,
  Expected,
  ProviderCapabilities,
} from "../../../storage/cloud/provider.ts";
import type { ItemOutcome, ProviderItem } from "../../../storage/cloud/item.ts";
import { toTrashPage, type TrashedItem } from "../../../storage/cloud/trash.ts";

/** The capabilities of a provider that keeps everything in memory: stable ids, a trash, nothing emulated. */
export const memoryCapabilities: ProviderCapabilities = {
  trash: true,
  permanentDelete: true,
  guardedRename: "atomic",
  guardedDelete: "atomic",
  guardedReplace: "emulated",
  createOnly: "atomic",
  folderMove: true,
  ids: "stable",
  caseSensitive: true,
  normalisationSensitive: true,
  duplicateNames: false,
  quota: true,
  range: true,
  versionResolutionMs: 0,
  uploadNeedsSize: false,
};

interface Node {
  readonly id: string;
  name: string;
  parent: string;
  readonly kind: "file" | "folder";
  bytes: Buffer;
  etag: number;
  version: number;
  changedAt: number;
}

/** The verbs whose next outcomes a test may decide. */
export type Verb =
  | "list"
  | "stat"
  | "read"
  | "createFolder"
  | "upload"
  | "rename"
  | "move"
  | "delete"
  | "listTrash"
  | "restore"
  | "emptyTrash"
  | "quota"
  | "check";

/** A storage in memory that several clients share, with a record of its calls and failures to order. */
export interface MemoryStorage {
  connect(): CloudProvider;
  /** The type that connects to this storage; `secret` is its one credential. */
  readonly type: CloudProviderType;
  /** Names of verbs, in the order of the calls. */
  readonly calls: Verb[];
  /** The next calls of a verb fail like this, one after the other. */
  fail(
    verb: Verb,
    ...failures: readonly (Failure | { kind: "not_found" } | { kind: "changed" })[]
  ): void;
  /** The next call of a verb does its work and then fails like this. */
  failAfter(verb: Verb, failure: Failure): void;
  /** Forgets ordered failures. */
  recover(): void;
  /** Truncates the next bodies after these numbers of bytes. */
  cut(...afterBytes: readonly number[]): void;
  overwrite(id: string, bytes: Uint8Array): void;
  /** Waits before the next read gives its bytes. */
  gateReads(gate: Promise<void> | undefined): void;
  restoreLast(): void;
}

/** Makes an empty storage. */
export function createMemoryStorage(
  capabilities: ProviderCapabilities = memoryCapabilities,
  typeName = "memory",
): MemoryStorage {
  const nodes = new Map<string, Node>();
  const trashed = new Map<string, { readonly node: Node; readonly below: readonly Node[] }>();
  let counter = 0;
  let gate: Promise<void> | undefined;
  const calls: Verb[] = [];
  const ordered = new Map<Verb, unknown[]>();
  const orderedAfter = new Map<Verb, Failure>();
  const cuts: number[] = [];

  const childrenOf = (parent: string) =>
    [...nodes.values()].filter((node) => node.parent === parent);
  const isFolder = (id: string) => id === "" || nodes.get(id)?.kind === "folder";
  const belowOf = (id: string): Node[] =>
    childrenOf(id).flatMap((node) => [node, ...belowOf(node.id)]);

  function toItem(node: Node): ProviderItem {
    const isFile = node.kind === "file";
    return {
      id: node.id,
      name: node.name,
      kind: node.kind,
      parent: node.parent,
      contentType: undefined,
      size: isFile ? node.bytes.length : undefined,
      modifiedAt: node.changedAt,
      etag: `e${node.etag}`,
      version: isFile ? `v${node.version}` : undefined,
    };
  }

  function toTrashed([id, { node }]: readonly [string, { readonly node: Node }]): TrashedItem {
    return {
      id,
      name: node.name,
      kind: node.kind,
      from: { kind: "folder", id: node.parent },
      size: node.kind === "file" ? node.bytes.length : undefined,
      deletedAt: undefined,
    };
  }

  function findTaken(parent: string, name: string, but?: Node): Node | undefined {
    const key = keyOf(name);
    return childrenOf(parent).find((node) => node !== but && keyOf(node.name) === key);
  }

  function keyOf(name: string): string {
    const normal = capabilities.normalisationSensitive ? name : name.normalize("NFC");
    return capabilities.caseSensitive ? normal : normal.toLowerCase();
  }

  function find(id: string, expected: Expected): Node | Failure {
    const node = nodes.get(id);
    const isOther =
      node === undefined ||
      (expected.kind !== undefined && expected.kind !== node.kind) ||
      (expected.etag !== undefined && expected.etag !== `e${node.etag}`);
    return node === undefined || isOther ? { kind: "stale" } : node;
  }

  function add(parent: string, name: string, kind: Node["kind"], bytes: Buffer): ItemOutcome {
    const rule = brokenNameRule(name);
    if (rule !== undefined) return { kind: "invalid_name", rule };
    if (!isFolder(parent)) return { kind: "stale" };
    if (findTaken(parent, name) !== undefined) return { kind: "conflict", existingName: name };
    counter += 1;
    const node = {
      id: `id/${counter}`,
      name,
      parent,
      kind,
      bytes,
      etag: counter,
      version: counter,
      changedAt: Date.now(),
    };
    nodes.set(node.id, node);
    return { kind: "ok", item: toItem(node) };
  }

  async function call<T extends { readonly kind: string }>(
    verb: Verb,
    work: () => Promise<T>,
  ): Promise<T> {
    calls.push(verb);
    const failure = ordered.get(verb)?.shift();
    if (failure !== undefined) return failure as T;
    const outcome = await work();
    const after = orderedAfter.get(verb);
    orderedAfter.delete(verb);
    return after === undefined ? outcome : (after as unknown as T);
  }

  function connect(): CloudProvider {
    return {
      capabilities,
      list: ({ folder }) =>
        call("list", async () =>
          isFolder(folder)
            ? { kind: "ok", items: childrenOf(folder).map(toItem) }
            : { kind: "stale" },
        ),
      stat: ({ id }) =>
        call("stat", async () => {
          const node = nodes.get(id);
          return node === undefined ? { kind: "not_found" } : { kind: "ok", item: toItem(node) };
        }),
      read: ({ id, range, version, signal }) =>
        call("read", async () => {
          const node = nodes.get(id);
          if (node === undefined) return { kind: "not_found" };
          if (node.kind === "folder") return { kind: "unsupported", reason: "folder" };
          const item = toItem(node);
          if (version !== undefined && version !== item.version) return { kind: "changed" };
          const size = node.bytes.length;
          if (range !== undefined && range.start >= size)
            return { kind: "range_not_satisfiable", size };
          const bytes = node.bytes.subarray(range?.start ?? 0, (range?.end ?? size - 1) + 1);
          return {
            kind: "ok",
            item,
            length: bytes.length,
            stream: toStream(bytes, cuts.shift(), signal),
          };
        }),
      createFolder: ({ parent, name }) =>
        call("createFolder", async () => add(parent, name, "folder", Buffer.alloc(0))),
      async upload({ parent, name, content, size, signal }) {
        try {
          return await call("upload", async () => {
            if (findTaken(parent, name) !== undefined)
              return { kind: "conflict", existingName: name };
            const chunks: Buffer[] = [];
            for await (const chunk of content as AsyncIterable<Buffer>) {
              signal.throwIfAborted();
              chunks.push(chunk);
            }
            const bytes = Buffer.concat(chunks);
            if (size !== undefined && size !== bytes.length)
              throw new Error("not the declared length");
            return add(parent, name, "file", bytes);
          });
        } finally {
          content.destroy();
        }
      },
      rename: ({ id, name, expected }) =>
        call("rename", async () => {
          const node = find(id, expected);
          if (!("bytes" in node)) return node;
          if (node.kind === "folder" && !capabilities.folderMove) return { kind: "unsupported" };
          if (findTaken(node.parent, name, node) !== undefined)
            return { kind: "conflict", existingName: name };
          node.name = name;
          node.etag = ++counter;
          return { kind: "ok", item: toItem(node) };
        }),
      move: ({ id, parent, expected }) =>
        call("move", async () => {
          const node = find(id, expected);
          if (!("bytes" in node)) return node;
          if (node.kind === "folder" && !capabilities.folderMove) return { kind: "unsupported" };
          if (parent === id) return { kind: "invalid_destination", reason: "self_destination" };
          if (belowOf(id).some((below) => below.id === parent))
            return { kind: "invalid_destination", reason: "descendant_destination" };
          if (nodes.get(parent)?.kind === "file")
            return { kind: "invalid_destination", reason: "not_a_folder" };
          if (!isFolder(parent)) return { kind: "stale" };
          if (findTaken(parent, node.name, node) !== undefined)
            return { kind: "conflict", existingName: node.name };
          node.parent = parent;
          node.etag = ++counter;
          return { kind: "ok", item: toItem(node) };
        }),
      delete: ({ id, expected, permanently = false }) =>
        call("delete", async () => {
          const node = find(id, expected);
          if (!("bytes" in node)) return node;
          const below = belowOf(id);
          for (const one of [node, ...below]) nodes.delete(one.id);
          if (!capabilities.trash || permanently) return { kind: "ok", how: "permanent" };
          trashed.set(`t${++counter}`, { node, below });
          return { kind: "ok", how: "trashed" };
        }),
      ...(capabilities.trash && {
        trash: {
          list: ({ cursor }) =>
            call("listTrash", async () => toTrashPage([...trashed].map(toTrashed), cursor)),
          restore: ({ id }) =>
            call("restore", async () => {
              const found = trashed.get(id);
              if (found === undefined || !isFolder(found.node.parent)) return { kind: "stale" };
              const { node, below } = found;
              if (findTaken(node.parent, node.name) !== undefined)
                return { kind: "conflict", existingName: node.name };
              for (const one of [node, ...below]) nodes.set(one.id, one);
              trashed.delete(id);
              return { kind: "ok", item: toItem(node) };
            }),
          empty: () =>
            call("emptyTrash", async () => {
              const removed = trashed.size;
              trashed.clear();
              return { kind: "ok", removed, isComplete: true };
            }),
        },
      }),
      quota: () =>
        call("quota", async () => ({
          kind: "ok",
          usedBytes: 10,
          totalBytes: capabilities.quota ? 100 : undefined,
        })),
      check: () => call("check", async () => ({ kind: "ok", probeResult: {} })),
      close: async () => undefined,
    };
  }

  return {
    connect,
    calls,
    type: {
      type: typeName,
      title: "Memory",
      settings: [
        { name: "secret", kind: "text", required: false, secret: true, help: "Anything but wrong" },
      ],
      capabilities,
      connect: async ({ credentials }) =>
        credentials["secret"] === "wrong"
          ? { kind: "reauth" }
          : { kind: "ok", provider: connect(), probeResult: {} },
    },
    fail: (verb, ...failures) => ordered.set(verb, [...(ordered.get(verb) ?? []), ...failures]),
    recover() {
      ordered.clear();
      orderedAfter.clear();
      cuts.length = 0;
    },
    failAfter: (verb, failure) => orderedAfter.set(verb, failure),
    cut: (...afterBytes) => cuts.push(...afterBytes),
    gateReads: (value) => {
      gate = value;
    },
    overwrite(id, bytes) {
      const node = nodes.get(id);
      if (node === undefined) throw new Error("nothing to overwrite");
      node.bytes = Buffer.from(bytes);
      node.version = ++counter;
      node.etag = ++counter;
    },
    restoreLast() {
      const [id, last] = [...trashed].at(-1) ?? [];
      if (id === undefined || last === undefined) throw new Error("nothing in the trash");
      for (const node of [last.node, ...last.below]) nodes.set(node.id, node);
      trashed.delete(id);
    },
  };

  function toStream(bytes: Buffer, cutAfter: number | undefined, signal: AbortSignal): Readable {
    const waitFor = gate;
    const stream = Readable.from(
      (async function* () {
        await waitFor;
        for (let at = 0; at < bytes.length; at += 64 * 1024) {
          if (cutAfter !== undefined && at >= cutAfter)
            throw new StreamAborted({ kind: "offline", sent: true, note: "cut" });
          await new Promise((resolve) => setImmediate(resolve));
          yield bytes.subarray(at, Math.min(at + 64 * 1024, cutAfter ?? Infinity));
        }
      })(),
      { objectMode: false },
    );
    const abort = () =>
      stream.destroy(new StreamAborted({ kind: "offline", sent: false, note: "aborted" }));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    return stream;
  }
}
