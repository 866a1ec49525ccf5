// The commit-graph of a repository, as git writes it (gitformat-commit-graph(5)): parents, trees and changed paths of
// commits in one file, or in a chain of files.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { mayContain, type PathHashes } from "./path-filter.ts";

/**
 * Facts about commits, addressed by position: a small number that is valid for this value only. Facts about a commit
 * never change, so an old graph lacks commits but is not wrong.
 */
export interface CommitGraph {
  /** Returns the position of a commit; undefined when the graph lacks it. */
  find(id: string): number | undefined;
  idOf(position: number): string;
  treeOf(position: number): string;
  /** Returns a number that is higher than that of every ancestor. */
  generationOf(position: number): number;
  /** Returns the parents in their order; undefined when the file is damaged there. */
  parentsOf(position: number): readonly number[] | undefined;
  /** Returns false only if the commit certainly does not change the path against its first parent. */
  mayChange(position: number, path: PathHashes): boolean;
}

/** One file of the graph. Its positions follow those of the files below it. */
interface Layer {
  readonly bytes: Buffer;
  readonly idBytes: number;
  readonly count: number;
  /** Commits of the files below. */
  readonly base: number;
  readonly ids: number;
  readonly fanout: number;
  readonly commits: number;
  /** Offset of the parents of merges of more than two; undefined if there are no such merges. */
  readonly edges: { readonly start: number; readonly end: number } | undefined;
  readonly filters:
    | {
        readonly index: number;
        readonly start: number;
        readonly end: number;
        readonly hashCount: number;
      }
    | undefined;
}

const NO_PARENT = 0x70000000;
const FANOUT_BYTES = 1024;
const FILTER_HEADER_BYTES = 12;
const HEADER_BYTES = 8;
const CHUNK_ENTRY_BYTES = 12;
/** Number of bits of a filter that are tested for a path; git writes 7. */
const HASHES_MAX = 32;

/** Joins the files of a graph, the oldest first; undefined when one of them is damaged or of an unknown version. */
export function parseCommitGraph(files: readonly Buffer[]): CommitGraph | undefined {
  const layers: Layer[] = [];
  let total = 0;
  for (const bytes of files) {
    const layer = parseLayer(bytes, total);
    if (layer === undefined) return undefined;
    layers.push(layer);
    total += layer.count;
  }
  if (layers.length === 0) return undefined;

  const layerOf = (position: number): Layer => {
    for (let at = layers.length - 1; at >= 0; at -= 1) {
      const layer = layers[at];
      if (layer !== undefined && position >= layer.base) return layer;
    }
    throw new RangeError(`the commit-graph has no position ${position}`);
  };
  const toCommit = (layer: Layer, position: number) =>
    layer.commits + (position - layer.base) * (layer.idBytes + 16);

  return {
    find(id) {
      for (const layer of layers) {
        const index = findIndex(layer, Buffer.from(id, "hex"));
        if (index !== undefined) return layer.base + index;
      }
      return undefined;
    },

    idOf(position) {
      const layer = layerOf(position);
      const start = layer.ids + (position - layer.base) * layer.idBytes;
      return layer.bytes.toString("hex", start, start + layer.idBytes);
    },

    treeOf(position) {
      const layer = layerOf(position);
      const start = toCommit(layer, position);
      return layer.bytes.toString("hex", start, start + layer.idBytes);
    },

    generationOf(position) {
      const layer = layerOf(position);
      return layer.bytes.readUInt32BE(toCommit(layer, position) + layer.idBytes + 8) >>> 2;
    },

    parentsOf(position) {
      const layer = layerOf(position);
      const { bytes, idBytes, edges } = layer;
      const at = toCommit(layer, position) + idBytes;
      const first = bytes.readUInt32BE(at);
      const second = bytes.readUInt32BE(at + 4);
      const parents: number[] = [];
      if (first !== NO_PARENT) parents.push(first);
      if (second < NO_PARENT) parents.push(second);
      else if (second !== NO_PARENT) {
        for (let edge = second & 0x7fffffff; ; edge += 1) {
          const start = (edges?.start ?? 0) + edge * 4;
          if (edges === undefined || start + 4 > edges.end) return undefined;
          const value = bytes.readUInt32BE(start);
          parents.push(value & 0x7fffffff);
          if (value >= 0x80000000) break;
        }
      }
      return parents.every((parent) => parent < total) ? parents : undefined;
    },

    mayChange(position, path) {
      const { bytes, base, filters } = layerOf(position);
      if (filters === undefined) return true;
      const at = filters.index + (position - base) * 4;
      const start = filters.start + (position === base ? 0 : bytes.readUInt32BE(at - 4));
      const end = filters.start + bytes.readUInt32BE(at);
      if (start > end || end > filters.end) return true;
      return mayContain({ bytes, start, end, hashCount: filters.hashCount }, path);
    },
  };
}

function parseLayer(bytes: Buffer, base: number): Layer | undefined {
  if (bytes.byteLength < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "CGPH")
    return undefined;
  const [version, format, chunkCount = 0] = bytes.subarray(4);
  const idBytes = format === 2 ? 32 : 20;
  if (version !== 1 || (format !== 1 && format !== 2)) return undefined;
  const chunks = readChunks(bytes, chunkCount);
  const fanout = chunks?.get("OIDF");
  const ids = chunks?.get("OIDL");
  const commits = chunks?.get("CDAT");
  if (fanout === undefined || ids === undefined || commits === undefined) return undefined;
  if (sizeOf(fanout) !== FANOUT_BYTES) return undefined;
  const count = bytes.readUInt32BE(fanout.end - 4);
  if (sizeOf(ids) !== count * idBytes || sizeOf(commits) !== count * (idBytes + 16))
    return undefined;
  return {
    bytes,
    idBytes,
    count,
    base,
    ids: ids.start,
    fanout: fanout.start,
    commits: commits.start,
    edges: chunks?.get("EDGE"),
    filters: toFilters(bytes, count, chunks?.get("BIDX"), chunks?.get("BDAT")),
  };
}

interface Chunk {
  readonly start: number;
  readonly end: number;
}

const sizeOf = ({ start, end }: Chunk) => end - start;

/** Reads the table of contents: names of four letters, each with the place where its chunk begins. */
function readChunks(bytes: Buffer, count: number): Map<string, Chunk> | undefined {
  const chunks = new Map<string, Chunk>();
  if (bytes.byteLength < HEADER_BYTES + (count + 1) * CHUNK_ENTRY_BYTES) return undefined;
  for (let index = 0; index < count; index += 1) {
    const at = HEADER_BYTES + index * CHUNK_ENTRY_BYTES;
    const start = Number(bytes.readBigUInt64BE(at + 4));
    const end = Number(bytes.readBigUInt64BE(at + CHUNK_ENTRY_BYTES + 4));
    if (start > end || end > bytes.byteLength) return undefined;
    chunks.set(bytes.toString("latin1", at, at + 4), { start, end });
  }
  return chunks;
}

function toFilters(
  bytes: Buffer,
  count: number,
  index: Chunk | undefined,
  data: Chunk | undefined,
): Layer["filters"] {
  if (index === undefined || data === undefined) return undefined;
  if (sizeOf(index) !== count * 4 || sizeOf(data) < FILTER_HEADER_BYTES) return undefined;
  const version = bytes.readUInt32BE(data.start);
  const hashCount = bytes.readUInt32BE(data.start + 4);
  if ((version !== 1 && version !== 2) || hashCount > HASHES_MAX) return undefined;
  return {
    index: index.start,
    start: data.start + FILTER_HEADER_BYTES,
    end: data.end,
    hashCount,
  };
}

/** Searches the sorted ids; the fanout table says where those with the same first byte are. */
function findIndex({ bytes, idBytes, ids, fanout, count }: Layer, id: Buffer): number | undefined {
  const first = id[0];
  if (first === undefined || id.byteLength !== idBytes) return undefined;
  let low = first === 0 ? 0 : bytes.readUInt32BE(fanout + (first - 1) * 4);
  let high = Math.min(bytes.readUInt32BE(fanout + first * 4), count);
  while (low < high) {
    const middle = (low + high) >>> 1;
    const start = ids + middle * idBytes;
    const order = id.compare(bytes, start, start + idBytes);
    if (order === 0) return middle;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return undefined;
}

export type CommitGraphReader = ReturnType<typeof createCommitGraphReader>;

/** Bytes of all graphs in memory, which is also the largest graph that is read: about 400,000 commits. */
const BYTES_MAX = 32 * 1024 * 1024;

/** Reads the commit-graphs of repositories, and caches the most recently used ones. */
export function createCommitGraphReader() {
  // A Map keeps the order of insertion: a graph that is used is inserted again.
  const cached = new Map<
    string,
    { readonly key: string; readonly size: number; readonly graph: CommitGraph | undefined }
  >();
  let total = 0;
  const forget = (directory: string) => {
    total -= cached.get(directory)?.size ?? 0;
    cached.delete(directory);
  };
  return {
    /** Returns the graph of a repository; undefined when the graph is missing, damaged or larger than 32 MiB. */
    async read(directory: string): Promise<CommitGraph | undefined> {
      const info = join(directory, "objects/info");
      const files = await listFiles(info);
      const key = files.map((file) => file.key).join(" ");
      const size = files.reduce((sum, file) => sum + file.size, 0);
      const cachedGraph = cached.get(directory);
      if (cachedGraph?.key === key) {
        cached.delete(directory);
        cached.set(directory, cachedGraph);
        return cachedGraph.graph;
      }
      if (size > BYTES_MAX) return undefined;
      const read = await Promise.all(files.map(({ path }) => orMissing(readFile(path))));
      const found = read.filter((bytes) => bytes !== undefined);
      // A job replaced a file in between: the graph is incomplete.
      if (found.length < files.length) return undefined;
      const graph = parseCommitGraph(found);
      forget(directory);
      cached.set(directory, { key, size, graph });
      total += size;
      for (const oldest of cached.keys()) {
        if (total <= BYTES_MAX) break;
        forget(oldest);
      }
      return graph;
    },
  };
}

/** Lists the files of a graph, the oldest first, each with a key that changes when the file is replaced. */
async function listFiles(info: string) {
  const folder = join(info, "commit-graphs");
  const single = await toFile(join(info, "commit-graph"));
  if (single !== undefined) return [single];
  const chain = await orMissing(readFile(join(folder, "commit-graph-chain"), "latin1"));
  const names = (chain ?? "").split("\n").filter((name) => /^[0-9a-f]{40,64}$/.test(name));
  const files = await Promise.all(names.map((name) => toFile(join(folder, `graph-${name}.graph`))));
  const found = files.filter((file) => file !== undefined);
  return found.length < names.length ? [] : found;
}

async function toFile(path: string) {
  const found = await orMissing(stat(path));
  if (found?.isFile() !== true) return undefined;
  return { path, size: found.size, key: `${path} ${found.ino} ${found.mtimeMs} ${found.size}` };
}

async function orMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
