import { existsSync } from "node:fs";
import { copyFile, link, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Git, GitError } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { syncFile } from "../sync.ts";

/** Packs from this size on are shared for good; smaller ones may be packed again by each repository. */
const KEPT_BYTES_MIN = 10 * 1024 * 1024;
/** How often the packs are listed again because git has packed the repository meanwhile. */
const LISTINGS_MAX = 10;
const KEPT = "shared by a repository and its forks\n";
const PACK = /^pack-[0-9a-f]+\.pack$/;

/**
 * Gives a new, empty repository all objects of another one of the same object format. Copies nothing: both name the same
 * files, as `git clone --local` does, so that each may be deleted without the other. Large packs get a `.keep` file on both
 * sides, because either side would otherwise write a copy when it packs its objects. Where the file system cannot share
 * files, they are copied.
 *
 * Refs that were read before name objects that exist afterwards, even while git packs the source.
 */
async function shareObjects(source: string, target: string): Promise<void> {
  // Git writes a pack before it deletes the loose objects that it has packed, so an object that is missing here is found there.
  await shareLooseObjects(join(source, "objects"), join(target, "objects"));
  const from = join(source, "objects/pack");
  const to = join(target, "objects/pack");
  await mkdir(to, { recursive: true });
  for (let listing = 1; !(await sharePacks(from, to)); listing++)
    if (listing === LISTINGS_MAX) throw new Error("git packs the repository again and again");
}

async function shareLooseObjects(from: string, to: string): Promise<void> {
  for (const folder of await readdir(from)) {
    if (!/^[0-9a-f]{2}$/.test(folder)) continue;
    const names = await listIfThere(join(from, folder));
    if (names.length > 0) await mkdir(join(to, folder), { recursive: true });
    for (const name of names)
      if (/^[0-9a-f]{38,62}$/.test(name))
        await share(join(from, folder, name), join(to, folder, name));
  }
}

/** Shares the packs that are listed now. Returns false when one of them was deleted meanwhile. */
async function sharePacks(from: string, to: string): Promise<boolean> {
  const names = await listIfThere(from);
  const present = new Set(names);
  let isWhole = true;
  for (const pack of names) {
    const base = pack.slice(0, -".pack".length);
    // The index is written last, and makes git read the pack.
    if (!PACK.test(pack) || !present.has(`${base}.idx`)) continue;
    for (const name of [pack, `${base}.rev`, `${base}.idx`]) {
      if (!present.has(name)) continue;
      isWhole = (await share(join(from, name), join(to, name))) && isWhole;
    }
    if (isWhole && (await stat(join(to, pack))).size >= KEPT_BYTES_MIN)
      for (const side of [to, from]) await keep(join(side, `${base}.keep`));
  }
  return isWhole;
}

async function keep(path: string): Promise<void> {
  await writeFile(path, KEPT, { flag: "wx", mode: 0o600 }).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
  await syncFile(path);
}

/** Returns false when the file is missing. */
async function share(path: string, name: string): Promise<boolean> {
  try {
    await link(path, name);
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (code === "ENOENT") return false;
    if (code === "EEXIST") return true;
    if (!["EXDEV", "EPERM", "EMLINK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code))
      throw error;
    return copy(path, name);
  }
  return true;
}

async function copy(path: string, name: string): Promise<boolean> {
  try {
    await copyFile(path, name);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
  return true;
}

async function listIfThere(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

async function statIfThere(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException | undefined)?.code;

/** Long enough to pack what was pushed since the last packing. */
const PACK_MS = 600_000;
/** Longest list of refs of a repository. */
const REFS_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Makes a new repository a fork: with the objects, branches and tags of another one of the same object format. Other refs,
 * such as those of pull requests, stay with it. Packs the source first where that saves space. Returns the number of branches. The refs are not synced. @throws GitError
 */
export async function copyBranchesAndTags(
  git: Git,
  source: string,
  target: string,
): Promise<number> {
  const listed = await git.run(
    ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/", "refs/tags/"],
    { directory: source, outputBytesMax: REFS_BYTES_MAX },
  );
  await packForSharing(git, source);
  await shareObjects(source, target);
  const refs = listed
    .toString("latin1")
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const space = line.indexOf(" ");
      return { name: line.slice(space + 1), id: line.slice(0, space) };
    });
  await createRefs(git, target, refs);
  return refs.filter(({ name }) => name.startsWith("refs/heads/")).length;
}

/** Creates refs in a new repository. Their names are read as `latin1`. They are not synced. @throws GitError */
export async function createRefs(
  git: Git,
  directory: string,
  refs: readonly { readonly name: string; readonly id: string }[],
): Promise<void> {
  if (refs.length === 0) return;
  const commands = refs.map(({ name, id }) => `create ${name}\0${id}\0`);
  await git.run(["update-ref", "--stdin", "-z"], {
    directory,
    input: Buffer.from(commands.join(""), "latin1"),
    // One file of all refs is synced instead of one for each.
    config: { "core.fsync": "none" },
  });
  await git.run(["pack-refs", "--all"], { directory });
}

/**
 * Packs loose objects and small packs when they are large together: they would be shared, but each repository would later pack
 * a copy of its own.
 */
async function packForSharing(git: Git, directory: string): Promise<void> {
  const counted = await git.run(["count-objects", "-v"], { directory });
  const looseBytes = 1024 * Number(/^size: (\d+)$/m.exec(counted.toString("latin1"))?.[1] ?? 0);
  const packs = join(directory, "objects/pack");
  const sizes = (await listIfThere(packs))
    .filter((name) => PACK.test(name))
    .map(async (name) => (await statIfThere(join(packs, name)))?.size ?? 0);
  const small = (await Promise.all(sizes)).filter((size) => size < KEPT_BYTES_MIN);
  const bytes = small.reduce((sum, size) => sum + size, looseBytes);
  if (bytes < KEPT_BYTES_MIN) return;
  await git.run(["repack", "-d", "--quiet", "--geometric=2"], {
    directory,
    timeoutMs: PACK_MS,
    // A person waits for the fork: large files are copied as they are, and the rest is compressed fast.
    config: { "core.bigFileThreshold": "10m", "pack.compression": "1" },
  });
}

/** Long enough to copy the largest histories from one folder to another. */
const FETCH_MS = 600_000;

/**
 * Copies a commit and its history from another repository on this machine, as far as they are missing. No ref names it
 * afterwards. @throws GitError `moved` when the source is missing
 */
export async function fetchCommit(
  git: Git,
  { source, commit }: { readonly source: string; readonly commit: string },
  { env, ...options }: ReadOptions & { readonly env?: Readonly<Record<string, string>> },
): Promise<void> {
  try {
    await git.run(
      [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        // The file of an adopted repository could name another program.
        "--upload-pack=git-upload-pack",
        source,
        commit,
      ],
      { ...options, env: { ...env, GIT_ALLOW_PROTOCOL: "file" }, timeoutMs: FETCH_MS },
    );
  } catch (error) {
    if (existsSync(source)) throw error;
    throw new GitError("moved", "git fetch: the folder of the source is missing", error);
  }
}
