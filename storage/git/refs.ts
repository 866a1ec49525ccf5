import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { findCommitId } from "./commits.ts";
import { allEnded, type Git, GitError } from "./git.ts";

/** The branches of a repository. */
export interface BranchList {
  readonly branches: readonly string[];
  /** The branch that HEAD names, whether it exists or not; undefined when HEAD names no branch. */
  readonly head: string | undefined;
}

/** The result of resolving every ref of a repository; `reason` is a sentence without paths. */
export type ResolvedRefs =
  | ({ readonly kind: "resolved" } & BranchList)
  | { readonly kind: "unresolved"; readonly reason: string };

const REFS_BYTES_MAX = 64 * 1024 * 1024;
const BRANCHES = "refs/heads/";

/** Returns the names of a repository's branches and the branch that HEAD points to. @throws GitError */
export async function readBranches(git: Git, directory: string): Promise<BranchList> {
  const [branches, head] = await allEnded([
    readBranchNames(git, directory),
    readHeadBranch(directory),
  ]);
  return { branches, head };
}

/** Returns the names of a repository's branches, sorted. @throws GitError */
export async function readBranchNames(git: Git, directory: string): Promise<string[]> {
  const text = await git.run(["for-each-ref", "--format=%(refname)", BRANCHES], {
    directory,
    outputBytesMax: REFS_BYTES_MAX,
  });
  return toBranches(toLines(text));
}

/**
 * Resolves HEAD and every ref to an object and reads the branches. `unresolved` says that a name is not UTF-8, which no push may
 * have, or names the first ref that git cannot
 * follow: its content is not an object id, it points to a missing ref, or its object is missing, damaged, or (for a branch)
 * no commit. A HEAD that names a branch without commits is resolved. `looseRefs` are the files below `refs/`, because git
 * leaves a broken one out of its listing. @throws GitError
 */
export async function resolveRefs(
  git: Git,
  directory: string,
  looseRefs: readonly string[],
): Promise<ResolvedRefs> {
  const head = await readHeadBranch(directory);
  if (head === undefined && (await findCommitId(git, directory, "HEAD")) === undefined)
    return unresolved("HEAD");
  const listing = await listWithTypes(git, directory);
  if (listing.kind === "unresolved") return listing;
  const { types } = listing;
  const broken =
    looseRefs.find((name) => !types.has(name)) ??
    (await readPackedNames(directory)).find((name) => !types.has(name)) ??
    [...types].find(([name, type]) => name.startsWith(BRANCHES) && type !== "commit")?.[0];
  if (broken !== undefined) return unresolved(broken);
  return { kind: "resolved", branches: toBranches([...types.keys()]), head };
}

/** Lists every ref with the type of its object, and has git read and verify each of these objects. */
async function listWithTypes(git: Git, directory: string) {
  try {
    const text = await git.run(
      // The size of the contents makes git parse the object, not only its header.
      ["for-each-ref", "--format=%(objecttype) %(refname) %(*objecttype)%(contents:size)"],
      { directory, outputBytesMax: REFS_BYTES_MAX },
    );
    if (!isUtf8(text))
      return { kind: "unresolved", reason: "the name of one of its refs is not UTF-8" } as const;
    const entries = toLines(text).map((line) => line.split(" "));
    const types = new Map(entries.map(([type = "", name = ""]) => [name, type]));
    return { kind: "listed", types } as const;
  } catch (error) {
    const ref =
      error instanceof GitError ? / for (refs\/\S+)$/m.exec(error.message)?.[1] : undefined;
    if (ref === undefined) throw error;
    return unresolved(ref);
  }
}

async function readPackedNames(directory: string): Promise<string[]> {
  const text = await readFile(join(directory, "packed-refs"), "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  });
  return text.split("\n").flatMap((line) => /^[0-9a-f]+ (refs\/.+)$/s.exec(line)?.[1] ?? []);
}

const unresolved = (ref: string) =>
  ({ kind: "unresolved", reason: `its ${ref} does not resolve to an object` }) as const;

/**
 * Returns the branch to display by default: HEAD's when it exists, else the first of `preferred` that exists, else the
 * first of all; undefined when there is no branch.
 */
export function chooseDefaultBranch(
  { branches, head }: BranchList,
  preferred: readonly string[],
): string | undefined {
  const existing = new Set(branches);
  const candidates = [...(head === undefined ? [] : [head]), ...preferred];
  return candidates.find((name) => existing.has(name)) ?? branches[0];
}

/** Points HEAD to a branch. @throws GitError */
export async function writeHead(git: Git, directory: string, branch: string): Promise<void> {
  await git.run(["symbolic-ref", "HEAD", `${BRANCHES}${branch}`], { directory });
}

/** The folder of a repository's wiki in that of the repository. No ref can have this name. */
export const WIKI_FOLDER = ".wiki";

/** Returns the size of a repository's objects on disk, with those of its wiki, in KiB. @throws GitError */
export async function readSizeKib(git: Git, directory: string): Promise<number> {
  const wiki = join(directory, WIKI_FOLDER);
  const [ofRepository, ofWiki] = await allEnded([
    readObjectsKib(git, directory),
    existsSync(wiki) ? readObjectsKib(git, wiki) : 0,
  ]);
  return ofRepository + ofWiki;
}

async function readObjectsKib(git: Git, directory: string): Promise<number> {
  const text = (await git.run(["count-objects", "-v"], { directory })).toString("utf8");
  const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  return of("size") + of("size-pack");
}

/** Returns the object ids that these refs name now; refs that do not exist are left out. @throws GitError */
export async function readRefs(
  git: Git,
  directory: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const requested = new Set(names);
  const text = await git.run(["for-each-ref", "--format=%(objectname) %(refname)"], {
    directory,
    outputBytesMax: REFS_BYTES_MAX,
  });
  const found = toLines(text).map((line) => {
    const space = line.indexOf(" ");
    return [line.slice(space + 1), line.slice(0, space)] as const;
  });
  return new Map(found.filter(([name]) => requested.has(name)));
}

/** Returns the ids of all branches and tags by their full names. @throws GitError */
export async function readBranchAndTagIds(
  git: Git,
  directory: string,
): Promise<ReadonlyMap<string, string>> {
  const text = await git.run(
    ["for-each-ref", "--format=%(objectname) %(refname)", BRANCHES, "refs/tags/"],
    { directory, outputBytesMax: REFS_BYTES_MAX },
  );
  const found = toLines(text).map((line) => {
    const space = line.indexOf(" ");
    return [line.slice(space + 1), line.slice(0, space)] as const;
  });
  return new Map(found);
}

/**
 * Returns the first of these refs that points to another ref. Only a file of its own can be such a ref, and git makes
 * none in a push. Names that git refuses are skipped.
 */
export async function findSymbolicRef(
  directory: string,
  names: readonly string[],
): Promise<string | undefined> {
  for (let at = 0; at < names.length; at += FILES_AT_ONCE) {
    const some = names.slice(at, at + FILES_AT_ONCE);
    const found = await Promise.all(
      some.map(async (name) => !name.includes("..") && (await isSymbolic(join(directory, name)))),
    );
    const index = found.indexOf(true);
    if (index !== -1) return some[index];
  }
  return undefined;
}

const FILES_AT_ONCE = 64;

async function isSymbolic(path: string): Promise<boolean> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.toString("latin1", 0, bytesRead) === "ref:";
  } catch (error) {
    // A packed ref, a new one, a folder of refs, or a name that git refuses.
    const code = (error as NodeJS.ErrnoException).code;
    if (["ENOENT", "ENOTDIR", "EISDIR", "ENAMETOOLONG"].includes(code ?? "")) return false;
    throw error;
  }
}

/** Returns the branch that HEAD names, whether it exists or not; undefined when HEAD names no branch. */
export async function readHeadBranch(directory: string): Promise<string | undefined> {
  const text = await readFile(join(directory, "HEAD"), "utf8");
  return /^ref: refs\/heads\/([^\n]+)\n?$/.exec(text)?.[1];
}

function toBranches(names: readonly string[]): string[] {
  return names
    .filter((name) => name.startsWith(BRANCHES))
    .map((name) => name.slice(BRANCHES.length));
}

function toLines(text: Buffer): string[] {
  return text
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
}
