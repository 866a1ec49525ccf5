import type { BigIntStats } from "node:fs";
import { link, lstat, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CliError } from "../../../errors.ts";

/** A folder here that downloads go into. */
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
 * A folder in another one, made when it is not there. A link is not followed: it could lead anywhere.
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
  const kind = found.isSymbolicLink() ? "a link, which is not followed" : "no folder";
  throw new CliError("conflict", `${path} is ${kind}`);
}

/** Makes sure that the folder is still the one that was opened or made. @throws CliError `conflict` */
export async function assertUnmoved({ path, mark }: LocalFolder): Promise<void> {
  // The typed path may be a link, so follow links here: their target must be the same folder.
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined || toMark(found) !== mark)
    throw new CliError("conflict", `${path} was replaced while files were put into it`);
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
  /** Parts that were kept so that another run can resume them. */
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

/** A second name and then the end of the first one: unlike a rename that replaces nothing that came in between. */
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
 * A name from the server as the name of a file here: it cannot leave the folder or hide a control character, and is no
 * longer than file systems take. Windows also gets no name that it takes for something else; everywhere else names stay
 * as they are.
 */
export function toFileName(name: string, platform: string): string {
  const plain = name.toWellFormed().replaceAll(/[/\p{Cc}]/gu, "_");
  if (plain === "" || plain === "." || plain === "..") return "_";
  // Unfinished downloads have this suffix, so the file would be taken for one.
  if (plain.endsWith(partSuffix)) return toFileName(`${plain}_`, platform);
  return toShortName(platform === "win32" ? toWindowsName(plain) : plain);
}

/** Suffix of partial files. */
export const partSuffix = ".croft-part";

/** Names within one folder, so that no two items become one file. */
interface FileNames {
  /**
   * A name for each of these names from the server, in their order. Those that would be taken for one another, on this
   * platform, get a counter; the first one keeps its name.
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

/** The start of a name that leaves room for `more` bytes behind it, cut between characters. */
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

/** A name that is too long loses the end of its stem and keeps its extension. */
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

/** Names with the same key are one file. Case and spelling of accents matter on Linux and its kin only. */
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
 * A partial download. Its name carries the tag of the version that its bytes are of, so that
 * two versions are never mixed in one file, even after a crash.
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
        // A name that had to be cut off may be the beginning of another one.
        if (toTag(`"${tag}"`) === undefined || name !== `${basename(path)}.${tag}${partSuffix}`)
          continue;
        const found = await lstat(join(folder, name)).catch(() => undefined);
        // A link would lead the bytes somewhere else.
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
