import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BranchFacts } from "./refs.ts";

/** What a look at a repository's files has found. Paths are relative to it. */
export interface SeenFiles {
  /** Those of refs, and of objects and packs. */
  readonly names: ReadonlySet<string>;
  /** Of `refs/heads` and below. */
  readonly heads: readonly string[];
}

const LOOSE_MAX = 200;
const PACKED_BYTES_MAX = 8 * 1024 * 1024;
/** A name that git would take as it is; others are left to git. */
const plainName =
  /^refs\/(?:[A-Za-z0-9_][A-Za-z0-9_+-]*(?:\.[A-Za-z0-9_+-]+)*\/)*[A-Za-z0-9_][A-Za-z0-9_+-]*(?:\.[A-Za-z0-9_+-]+)*$/;

/**
 * The branches of a repository and the one that HEAD names, read from its files without git. Undefined when they are
 * anything but ordinary, such as refs to refs, broken ones or very many: then it takes git.
 */
export async function readBranchesOnDisk(
  directory: string,
  { names, heads }: SeenFiles,
  objectFormat: "sha1" | "sha256",
): Promise<BranchFacts | undefined> {
  const isUsual = ["objects", "refs"].every((name) => names.has(name)) && !names.has("reftable");
  if (!isUsual || heads.length > LOOSE_MAX) return undefined;
  const head = /^ref: refs\/heads\/([^\n]+)\n?$/.exec(
    await readFile(join(directory, "HEAD"), "utf8"),
  )?.[1];
  if (head === undefined) return undefined;
  const ids = new Map<string, string>();
  const idLength = objectFormat === "sha256" ? 64 : 40;
  if (names.has("packed-refs")) {
    const packed = await readPacked(join(directory, "packed-refs"), idLength);
    if (packed === undefined) return undefined;
    for (const [name, id] of packed) ids.set(name, id);
  }
  const loose = await Promise.all(
    heads.map(async (name) => [name, await readFile(join(directory, name), "latin1")] as const),
  );
  for (const [name, text] of loose) {
    const id = text.trimEnd();
    if (!isPlain(name, id, idLength)) return undefined;
    ids.set(name, id);
  }
  const hasPacks = [...names].some((name) => /^objects\/pack\/.+\.idx$/.test(name));
  // What is not loose must be in a pack; where there is none, git says what is broken.
  const isLoose = (id: string) => names.has(`objects/${id.slice(0, 2)}/${id.slice(2)}`);
  const branches = [...ids.keys()].filter((name) => name.startsWith("refs/heads/"));
  if (!hasPacks && !branches.every((name) => isLoose(ids.get(name) ?? ""))) return undefined;
  return {
    branches: branches.map((name) => name.slice("refs/heads/".length)).toSorted(byBytes),
    head,
  };
}

async function readPacked(
  path: string,
  idLength: number,
): Promise<ReadonlyMap<string, string> | undefined> {
  const file = await open(path, "r");
  try {
    if ((await file.stat()).size > PACKED_BYTES_MAX) return undefined;
    const found = new Map<string, string>();
    for (const line of (await file.readFile("latin1")).split("\n")) {
      if (line === "" || /^#|^\^[0-9a-f]+$/.test(line)) continue;
      const id = line.slice(0, idLength);
      const name = line.slice(idLength + 1);
      if (line[idLength] !== " " || !isPlain(name, id, idLength)) return undefined;
      found.set(name, id);
    }
    return found;
  } finally {
    await file.close();
  }
}

function isPlain(name: string, id: string, idLength: number): boolean {
  return (
    id.length === idLength &&
    /^[0-9a-f]+$/.test(id) &&
    plainName.test(name) &&
    !/\.lock(?:\/|$)/.test(name)
  );
}

/** As git orders refs. */
function byBytes(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
