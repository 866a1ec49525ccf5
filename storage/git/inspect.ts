import { lstat, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { fsckConfig, type Git, GitError } from "./git.ts";
import { type BranchList, resolveRefs } from "./refs.ts";

/** The result of inspecting a folder of unknown origin. `unusable`: `reason` is a sentence without paths. */
export type Inspection =
  | ({
      readonly kind: "repository";
      readonly objectFormat: "sha1" | "sha256";
      readonly sizeKib: number;
    } & BranchList)
  | { readonly kind: "unusable"; readonly reason: string };

const STATS_AT_ONCE = 64;
/** A folder with more files than this is unusable: inspecting it would take minutes. */
const FILES_MAX = 1_000_000;

/** Files of a repository that make git read other places of the machine. */
const references = [
  "commondir",
  "gitdir",
  ".git",
  "objects/info/alternates",
  "objects/info/http-alternates",
];

/**
 * Checks whether a folder is a self-contained bare repository whose refs all resolve, and replaces its configuration by
 * one that only states how objects are stored; the former file stays beside it as `config.before-croft`. A folder with
 * links, devices or references to objects elsewhere is unusable. `key` is unique to the call. @throws GitError
 */
export async function inspectRepository(
  git: Git,
  directory: string,
  key: string,
): Promise<Inspection> {
  const walk = await walkFiles(directory);
  if (walk.kind === "unusable") return walk;
  for (const name of references)
    if (walk.names.has(name))
      return { kind: "unusable", reason: `its ${name} refers to another place` };
  for (const needed of ["HEAD", "config"])
    if (!walk.names.has(needed)) return { kind: "unusable", reason: "it is not a bare repository" };
  try {
    const storage = await readStorage(git, directory);
    if (storage.kind === "unusable") return storage;
    if (storage.isForeign) await writeHarmlessConfig(directory, storage, key);
    const refs = await resolveRefs(git, directory, walk.refs);
    if (refs.kind === "unresolved") return { kind: "unusable", reason: refs.reason };
    const fault = await findObjectFault(git, directory, walk.names);
    if (fault !== undefined) return { kind: "unusable", reason: fault };
    return {
      kind: "repository",
      objectFormat: storage.objectFormat,
      sizeKib: Math.ceil(walk.bytes / 1024),
      branches: refs.branches,
      head: refs.head,
    };
  } catch (error) {
    if (error instanceof GitError && error.code === "failed")
      return { kind: "unusable", reason: "git cannot read it" };
    throw error;
  }
}

/** Time for reading all objects: some gigabytes. */
const FSCK_MS = 10 * 60_000;

/**
 * Returns why a push would not bring one of the objects, such as a tree with a file `.git` or a `.gitmodules` that runs a
 * program in a clone. Missing objects are no fault: the refs were resolved. Reads the commits without a commit-graph, which is
 * neither checked nor needed: the caller removes it. @throws GitError
 */
async function findObjectFault(
  git: Git,
  directory: string,
  names: ReadonlySet<string>,
): Promise<string | undefined> {
  const words = ["fsck", "--full", "--strict", "--no-dangling", "--no-progress"];
  const hasIndexOfPacks = [...names].some((name) => name.startsWith(INDEX_OF_PACKS));
  // With these settings git starts a process for each of the two, whether it exists or not.
  const config = {
    ...fsckConfig,
    "core.commitGraph": "false",
    "core.multiPackIndex": String(hasIndexOfPacks),
  };
  try {
    await git.run(words, { directory, config, timeoutMs: FSCK_MS });
    return undefined;
  } catch (error) {
    if (!(error instanceof GitError) || error.code !== "failed") throw error;
    const [, code = "128"] = /ended with (\d+):/.exec(error.message) ?? [];
    const [, object, fault] = /error in (\w+ [0-9a-f]+): (.+)/.exec(error.message) ?? [];
    if (object !== undefined)
      return `its ${object} has a fault for which a push is refused: ${fault}`;
    const isFault = Number(code) >= FSCK_FAILED || Number(code) % 2 === FSCK_OBJECT;
    return isFault ? "git finds a fault in its objects" : undefined;
  }
}

/** The file, or folder, in which git finds the objects of several packs. */
const INDEX_OF_PACKS = "objects/pack/multi-pack-index";

/** Bits of the exit code of `git fsck`: a damaged object, and a failure of git itself. */
const FSCK_OBJECT = 1;
const FSCK_FAILED = 128;

type Walk =
  | {
      readonly kind: "files";
      readonly bytes: number;
      /** Paths in the two upper levels. */
      readonly names: ReadonlySet<string>;
      /** Files below `refs/`, without locks. */
      readonly refs: readonly string[];
    }
  | { readonly kind: "unusable"; readonly reason: string };

/** Lists everything below a folder without following links. */
async function walkFiles(directory: string): Promise<Walk> {
  const names = new Set<string>();
  const refs: string[] = [];
  let bytes = 0;
  let files = 0;
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const isUpper = folder.split("/").length <= 2;
    const found: string[] = [];
    for (const entry of await readdir(join(directory, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (isUpper) names.add(path);
      files += 1;
      if (files > FILES_MAX) return { kind: "unusable", reason: "it has too many files" };
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) found.push(path);
      else return { kind: "unusable", reason: "it contains a link or a special file" };
    }
    if (folder === "refs" || folder.startsWith("refs/"))
      refs.push(...found.filter((path) => !path.endsWith(".lock")));
    for (let at = 0; at < found.length; at += STATS_AT_ONCE) {
      const stats = found.slice(at, at + STATS_AT_ONCE).map((path) => lstat(join(directory, path)));
      for (const { size } of await Promise.all(stats)) bytes += size;
    }
  }
  return { kind: "files", names, refs, bytes };
}

type StorageFormat =
  | {
      readonly kind: "known";
      readonly objectFormat: "sha1" | "sha256";
      readonly version: string;
      readonly isForeign: boolean;
    }
  | { readonly kind: "unusable"; readonly reason: string };

/** Settings that state how objects are stored. */
const harmless = new Set([
  "core.repositoryformatversion",
  "core.filemode",
  "core.bare",
  "core.ignorecase",
  "core.precomposeunicode",
  "core.symlinks",
  "core.sharedrepository",
  "extensions.objectformat",
]);

async function readStorage(git: Git, directory: string): Promise<StorageFormat> {
  const settings = await readConfig(git, directory);
  const isBare = /^(?:true|yes|on|1)$/i.test(settings.get("core.bare") ?? "");
  if (!isBare) return { kind: "unusable", reason: "it is not a bare repository" };
  const objectFormat = settings.get("extensions.objectformat") ?? "sha1";
  if (objectFormat !== "sha1" && objectFormat !== "sha256")
    return { kind: "unusable", reason: "its objects have an unknown format" };
  const strange = [...settings.keys()].find(
    (key) => key.startsWith("extensions.") && key !== "extensions.objectformat",
  );
  if (strange !== undefined) return { kind: "unusable", reason: "it uses an extension of git" };
  return {
    kind: "known",
    objectFormat,
    version: objectFormat === "sha256" ? "1" : "0",
    isForeign: [...settings.keys()].some((key) => !harmless.has(key)),
  };
}

async function readConfig(git: Git, directory: string): Promise<ReadonlyMap<string, string>> {
  const text = await git.run(["config", "--file", "config", "--no-includes", "--list", "-z"], {
    directory,
    // Read as a plain file: as the repository's own configuration it would already take effect.
    env: { GIT_DIR: devNull },
  });
  return new Map(
    text
      .toString("utf8")
      .split("\0")
      .filter((line) => line !== "")
      .map((line) => {
        const [key = "", ...value] = line.split("\n");
        return [key, value.join("\n")] as const;
      }),
  );
}

async function writeHarmlessConfig(
  directory: string,
  { objectFormat, version }: { readonly objectFormat: string; readonly version: string },
  key: string,
): Promise<void> {
  const path = join(directory, "config");
  const extensions = objectFormat === "sha256" ? "[extensions]\n\tobjectformat = sha256\n" : "";
  const text = `[core]\n\trepositoryformatversion = ${version}\n\tfilemode = true\n\tbare = true\n${extensions}`;
  const former = await readFile(path);
  await writeFile(`${path}.before-croft`, former, { mode: 0o600, flag: "wx" }).catch(
    (error: unknown) => {
      // An earlier adoption has kept the original already.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    },
  );
  await writeFile(`${path}.${key}`, text, { mode: 0o600, flush: true });
  await rename(`${path}.${key}`, path);
}
