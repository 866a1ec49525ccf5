import { lstat, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { type Git, GitError } from "./git.ts";
import { readPlainConfig } from "./plain-config.ts";
import { type BranchFacts, readBranches } from "./refs.ts";
import { readBranchesOnDisk, type SeenFiles } from "./refs-on-disk.ts";

/** What a folder of unknown origin turned out to be. `unusable`: `why` says so in words without paths. */
export type Inspection =
  | ({
      readonly kind: "repository";
      readonly objectFormat: "sha1" | "sha256";
      readonly sizeKib: number;
    } & BranchFacts)
  | { readonly kind: "unusable"; readonly why: string };

const STATS_AT_ONCE = 64;
/** More files than this are no repository of people. */
const FILES_MAX = 1_000_000;

/** Parts of a repository that send git to other places of the machine. */
const detours = [
  "commondir",
  "gitdir",
  ".git",
  "objects/info/alternates",
  "objects/info/http-alternates",
];

/**
 * Finds out whether a folder is a bare repository that lies wholly within itself, and makes its configuration
 * harmless: only what says how objects are stored is kept; the former file stays beside it as `config.before-croft`.
 * Folders with links, devices or references to objects elsewhere are unusable. `key` is unique to the call. @throws GitError
 */
export async function inspectRepository(
  git: Git,
  directory: string,
  key: string,
): Promise<Inspection> {
  const walk = await walkFiles(directory);
  if (walk.kind === "unusable") return walk;
  for (const detour of detours)
    if (walk.names.has(detour))
      return { kind: "unusable", why: `it refers elsewhere by its ${detour}` };
  for (const needed of ["HEAD", "config"])
    if (!walk.names.has(needed)) return { kind: "unusable", why: "it is no bare repository" };
  try {
    const storage = await readStorage(git, directory);
    if (storage.kind === "unusable") return storage;
    if (storage.isForeign) await writeHarmlessConfig(directory, storage, key);
    const branches =
      (await readBranchesOnDisk(directory, walk, storage.objectFormat)) ??
      (await readBranches(git, directory));
    return {
      kind: "repository",
      objectFormat: storage.objectFormat,
      sizeKib: Math.ceil(walk.bytes / 1024),
      ...branches,
    };
  } catch (error) {
    if (error instanceof GitError && error.code === "failed")
      return { kind: "unusable", why: "git cannot read it" };
    throw error;
  }
}

type Walk =
  | ({ readonly kind: "files"; readonly bytes: number } & SeenFiles)
  | { readonly kind: "unusable"; readonly why: string };

/** Looks at everything below a folder without following anything; `names` are those of the three upper levels. */
async function walkFiles(directory: string): Promise<Walk> {
  const names = new Set<string>();
  const heads: string[] = [];
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
      if (files > FILES_MAX) return { kind: "unusable", why: "it has too many files" };
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) found.push(path);
      else return { kind: "unusable", why: "it contains a link or a special file" };
    }
    if (folder === "refs/heads" || folder.startsWith("refs/heads/")) heads.push(...found);
    for (let at = 0; at < found.length; at += STATS_AT_ONCE) {
      const stats = found.slice(at, at + STATS_AT_ONCE).map((path) => lstat(join(directory, path)));
      for (const { size } of await Promise.all(stats)) bytes += size;
    }
  }
  return { kind: "files", names, heads, bytes };
}

type StorageFacts =
  | {
      readonly kind: "known";
      readonly objectFormat: "sha1" | "sha256";
      readonly version: string;
      readonly isForeign: boolean;
    }
  | { readonly kind: "unusable"; readonly why: string };

/** Settings that say nothing but how objects are stored. */
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

async function readStorage(git: Git, directory: string): Promise<StorageFacts> {
  const config = await readFile(join(directory, "config"), "utf8");
  const settings = readPlainConfig(config) ?? (await readConfig(git, directory));
  const isBare = /^(?:true|yes|on|1)$/i.test(settings.get("core.bare") ?? "");
  if (!isBare) return { kind: "unusable", why: "it is no bare repository" };
  const objectFormat = settings.get("extensions.objectformat") ?? "sha1";
  if (objectFormat !== "sha1" && objectFormat !== "sha256")
    return { kind: "unusable", why: "its objects have an unknown format" };
  const strange = [...settings.keys()].find(
    (key) => key.startsWith("extensions.") && key !== "extensions.objectformat",
  );
  if (strange !== undefined) return { kind: "unusable", why: "it uses an extension of git" };
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
    // Read as any file: as the repository's own it would already count.
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
      // The first one is what was there.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    },
  );
  await writeFile(`${path}.${key}`, text, { mode: 0o600, flush: true });
  await rename(`${path}.${key}`, path);
}
