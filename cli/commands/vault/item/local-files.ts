import type { BigIntStats } from "node:fs";
import { link, lstat, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CliError } from "../../../errors.ts";

/** A local target folder of downloads. */
export interface LocalFolder {
  /** Absolute. */
  readonly path: string;
  /** Identifies the folder, so that a replacement is detected; undefined before it exists. */
  readonly mark: string | undefined;
}

/** Resolves a typed folder; a link to one counts. @throws CliError `file_error` when it does not exist */
export async function openLocalFolder(path: string): Promise<LocalFolder> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found?.isDirectory() === true) return { path, mark: toMark(found) };
  throw new CliError("file_error", `there is no folder ${path}`);
}

/**
 * Opens a folder in another one, or creates it. Does not follow links, which could lead anywhere.
 * @throws CliError `conflict` when something else has its name
 */
export async function makeLocalFolder(
  parent: LocalFolder,
  name: string,
  isPlan: boolean,
): Promise<LocalFolder> {
  const path = join(parent.path, name);
  if (!isPlan) {
    await assertUnmoved(parent);
    await mkdir(path).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
  }
  const found = await lstatIfThere(path);
  if (found?.isDirectory() === true) return { path, mark: toMark(found) };
  if (found === undefined) return { path, mark: undefined };
  const kind = found.isSymbolicLink() ? "a link, which is not followed" : "not a folder";
  throw new CliError("conflict", `${path} is ${kind}`);
}

/** Checks that the folder is still the one that was opened or created. @throws CliError `conflict` */
export async function assertUnmoved({ path, mark }: LocalFolder): Promise<void> {
  // Follows links, because the typed path may be one; its target must be the same folder.
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined || toMark(found) !== mark)
    throw new CliError("conflict", `${path} was replaced during the download`);
}

/** @throws CliError `conflict` when there is anything at `path`, be it a link that leads nowhere */
export async function assertFree(path: string, hint = TREE_HINT): Promise<void> {
  if ((await lstatIfThere(path)) !== undefined) throw toTaken(path, hint);
}

const TREE_HINT = "--force replaces it, --skip-existing leaves what is the same";
/** For a command that downloads one file. */
export const ONE_FILE_HINT = "--force replaces it, --output takes another name";

/** State that the downloads of one run share. */
export interface LocalFiles {
  readonly parts: PartFinder;
  /** Part files that another run can resume. */
  readonly resumableParts: Set<string>;
  /**
   * Renames a complete part to its name, atomically. Replaces an existing file only if `mayReplace`, and never one that
   * this run has written: on a case-insensitive file system two names can be one file. @throws CliError `conflict`
   */
  put(part: string, path: string, mayReplace: boolean): Promise<void>;
}

export function createLocalFiles(): LocalFiles {
  const written = new Set<string>();
  let turn: Promise<unknown> = Promise.resolve();
  return {
    parts: createPartFinder(),
    resumableParts: new Set(),
    put(part, path, mayReplace) {
      const putting = turn.then(async () => {
        if (mayReplace) await replace(part, path);
        else await putNew(part, path);
        const now = await lstatIfThere(path);
        if (now !== undefined) written.add(toMark(now));
      });
      turn = putting.catch(() => undefined);
      return putting;
    },
  };

  async function replace(part: string, path: string): Promise<void> {
    const there = await lstatIfThere(path);
    if (there !== undefined && written.has(toMark(there)))
      throw new CliError("conflict", `${path} was just written for another item`);
    await rename(part, path);
  }
}

/**
 * Creates a hard link and removes the first name. Unlike a rename, this cannot replace a file that another process
 * created meanwhile.
 */
async function putNew(part: string, path: string): Promise<void> {
  try {
    await link(part, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw toTaken(path, TREE_HINT);
    if (!withoutLinks.has(codeOf(error))) throw error;
    await assertFree(path);
    return rename(part, path);
  }
  await rm(part);
}

/** Error codes of file systems without hard links. */
const withoutLinks: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

function toTaken(path: string, hint: string): CliError {
  return new CliError("conflict", `${path} exists`, { hint });
}

async function lstatIfThere(path: string): Promise<BigIntStats | undefined> {
  return lstat(path, { bigint: true }).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
}

function toMark({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

/**
 * Converts a name from the server to a local file name: without path separators and control characters, and within
 * the length limit of file systems. On Windows also without reserved names and characters.
 */
export function toFileName(name: string, platform: string): string {
  const plain = name.toWellFormed().replaceAll(/[/\p{Cc}]/gu, "_");
  if (plain === "" || plain === "." || plain === "..") return "_";
  // The suffix of part files; another run would treat this file as one.
  if (plain.endsWith(partSuffix)) return toFileName(`${plain}_`, platform);
  return toShortName(platform === "win32" ? toWindowsName(plain) : plain);
}

/** Suffix of partial files. */
export const partSuffix = ".croft-part";

/** Assigns file names within one folder, so that no two items become one file. */
interface FileNames {
  /**
   * Returns a file name for each name from the server, in order. Names that are equal on this platform get a counter,
   * except the first.
   */
  takeAll(names: readonly string[]): readonly string[];
}

export function createFileNames(platform: string): FileNames {
  const taken = new Set<string>();
  const claim = (name: string) => {
    const key = toKey(name, platform);
    return taken.has(key) ? undefined : taken.add(key) && name;
  };
  return {
    takeAll(names) {
      const plain = names.map((name) => toFileName(name, platform));
      const first = plain.map(claim);
      return plain.map((name, index) => first[index] ?? claimCounted(name));
    },
  };

  function claimCounted(name: string): string {
    for (let count = 1; ; count++) {
      const counted = claim(withSuffix(name, ` (${count})`));
      if (counted !== undefined) return counted;
    }
  }
}

/** Longest name of a file in bytes, on all common file systems. */
const nameBytesMax = 255;

/** Truncates a name between characters, so that `more` bytes can be appended. */
function cutName(name: string, more: number): string {
  if (Buffer.byteLength(name) + more <= nameBytesMax) return name;
  let start = "";
  let bytes = more;
  for (const character of name) {
    bytes += Buffer.byteLength(character);
    if (bytes > nameBytesMax) break;
    start += character;
  }
  return start;
}

/** Shortens a name that is too long and keeps its extension. */
function toShortName(name: string): string {
  return Buffer.byteLength(name) <= nameBytesMax ? name : withSuffix(name, "");
}

function withSuffix(name: string, suffix: string): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : "";
  const stem = name.slice(0, name.length - extension.length);
  const end = suffix + extension;
  return cutName(stem, Buffer.byteLength(end)) + end;
}

/**
 * Returns a key that is equal for names of the same file. Only Linux and the like distinguish case and Unicode
 * normalization.
 */
function toKey(name: string, platform: string): string {
  const isStrict = platform !== "win32" && platform !== "darwin";
  return isStrict ? name : name.normalize("NFC").toUpperCase();
}

function toWindowsName(name: string): string {
  const plain = name
    .replaceAll(/[\\:*?"<>|]/g, "_")
    .replace(/[. ]+$/, (end) => "_".repeat(end.length));
  const isDevice = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³]) *(?:\.|$)/i;
  return isDevice.test(plain) ? `_${plain}` : plain;
}

/**
 * A partial download. Its name contains the version's entity tag, so that a file never mixes two versions, even after
 * a crash.
 */
export interface Part {
  readonly path: string;
  /** The entity tag without its quotes; undefined when the server sent no strong one. */
  readonly tag: string | undefined;
  /** In bytes. */
  readonly size: number;
}

/** Returns the path of the part file. `mark` is the entity tag of the version, or a random mark. */
export function toPartPath(path: string, mark: string): string {
  const end = `.${mark}${partSuffix}`;
  return join(dirname(path), cutName(basename(path), Buffer.byteLength(end)) + end);
}

/** The tag in an `ETag` header, if it is a strong one that fits into a name. */
export function toTag(etag: unknown): string | undefined {
  return /^"([\w-]{8,64})"$/.exec(String(etag ?? ""))?.[1];
}

/** Finds part files of earlier runs. Each folder is read once, on first use. */
interface PartFinder {
  /** Returns the newest part file for `path`. */
  find(path: string): Promise<Part | undefined>;
}

function createPartFinder(): PartFinder {
  const folders = new Map<string, Promise<readonly string[]>>();
  return {
    async find(path) {
      const folder = dirname(path);
      const reading = folders.get(folder) ?? readParts(folder);
      folders.set(folder, reading);
      const parts: (Part & { readonly changedAt: number })[] = [];
      for (const name of await reading) {
        const tag = name.slice(0, -partSuffix.length).split(".").at(-1) ?? "";
        // A truncated name may be the prefix of another one.
        if (toTag(`"${tag}"`) === undefined || name !== `${basename(path)}.${tag}${partSuffix}`)
          continue;
        const found = await lstat(join(folder, name)).catch(() => undefined);
        // A link would redirect the bytes.
        if (found?.isFile() === true)
          parts.push({ path: join(folder, name), tag, size: found.size, changedAt: found.mtimeMs });
      }
      return parts.toSorted((one, other) => other.changedAt - one.changedAt)[0];
    },
  };
}

async function readParts(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith(partSuffix));
}
