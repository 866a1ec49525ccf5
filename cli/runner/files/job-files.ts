// cli/runner/files: the only code of the runner that reads and writes the files of jobs. Programs of a job change these
// files while the runner looks at them: a path leads elsewhere a moment later, a file is a pipe, or never ends. So a file
// is opened once, without following links, must be a regular file within its folder, and has a maximum size.
import { constants, type Dirent, type Stats } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  readlink,
  realpath,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { isAbsolute, relative } from "node:path";

/** A file of a job that the runner does not open. The message is shown in the job's log. */
export class JobFileError extends Error {
  /** Whether it is no regular file within its folder, rather than one that cannot be opened. */
  readonly isNoFile: boolean;
  constructor(message: string, isNoFile = false) {
    super(message);
    this.name = "JobFileError";
    this.isNoFile = isNoFile;
  }
}

/** Linux: a handle of a path that opens nothing, so a pipe does not wait and a device does not act (open(2)). */
const O_PATH = 0o10_000_000;
/** Undefined on Windows. */
const NO_FOLLOW = (constants.O_NOFOLLOW as number | undefined) ?? 0;
/** Undefined on Windows. A file with a lease of another process is refused instead of waited for. */
const NO_WAIT = (constants.O_NONBLOCK as number | undefined) ?? 0;
const CHUNK_BYTES = 64 * 1024;
const APPENDED_BYTES_MAX = 1024 * 1024;

/**
 * Opens a regular file below `root`, whose own path no program of the job can change. Returns undefined when the file is
 * missing. The caller closes it.
 * @throws JobFileError for a link, a pipe, a device or any other kind, for a file outside of `root`, and without permission
 */
export async function openJobFile(root: string, path: string): Promise<FileHandle | undefined> {
  await using held = await hold(root, path);
  if (held === undefined) return undefined;
  if (!held.stats.isFile()) throw new JobFileError(`${toKind(held.stats)}, not a file`, true);
  return await refuse(() => open(held.path, constants.O_RDONLY | NO_FOLLOW_UNLESS_HELD | NO_WAIT));
}

/**
 * Reads a file below `root` as UTF-8. Returns undefined when it is missing.
 * @throws JobFileError as `openJobFile`, and for a file of more than `bytesMax` bytes
 */
export async function readJobFile(
  root: string,
  path: string,
  bytesMax: number,
): Promise<string | undefined> {
  await using file = await openJobFile(root, path);
  if (file === undefined) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  // A sparse file is refused before it is read, and a file that grows is read no further than the maximum.
  if ((await file.stat()).size > bytesMax) throw tooLarge(bytesMax);
  for await (const chunk of readChunks(file)) {
    length += chunk.byteLength;
    if (length > bytesMax) throw tooLarge(bytesMax);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Reads an open file from its start. A chunk is valid until the next one. */
export async function* readChunks(file: FileHandle): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * Lists a folder below `root`. A missing folder, one outside of `root` and one without permission have no entries. The
 * names of the entries count, not their paths.
 */
export async function* listJobFolder(root: string, path: string): AsyncGenerator<Dirent> {
  await using held = await hold(root, path).catch(ignoreRefusal);
  if (held === undefined || !held.stats.isDirectory()) return;
  const folder = await refuse(() => opendir(held.path)).catch(ignoreRefusal);
  if (folder === undefined) return;
  // The loop closes the folder.
  for await (const entry of folder) yield entry;
}

/**
 * Returns the path of a file or folder below `root` without links. Undefined when it is missing or outside of `root`.
 * It is a hint: `openJobFile` refuses it when it has become a link meanwhile.
 */
export async function findRealPath(root: string, path: string): Promise<string | undefined> {
  try {
    const found = await realpath(path);
    return isWithin(await realpath(root), found) ? found : undefined;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "ENAMETOOLONG"].includes(codeOf(error)))
      return undefined;
    throw error;
  }
}

/**
 * Makes a file with a text. Its folder is one that no program of a container can replace.
 * @throws JobFileError when something has that name
 */
export async function createJobFile(path: string, text: string, mode = 0o600): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW;
  await refuse(() => writeFile(path, text, { mode, flag: flags }));
}

/** Makes a folder for a job; its parent exists. @throws JobFileError when something has that name */
export async function createJobFolder(path: string, mode = 0o700): Promise<void> {
  await refuse(() => mkdir(path, { mode }));
}

/** Replaces the text of a file of a folder that no container can change. Other names of the file keep the former text. */
export async function replaceJobFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.croft`;
  await createJobFile(temporary, text, 0o644);
  await rename(temporary, path);
}

/** Adds a text to a small file below `root`. @throws JobFileError as `readJobFile`, and for a missing file */
export async function appendJobFile(root: string, path: string, text: string): Promise<void> {
  const before = await readJobFile(root, path, APPENDED_BYTES_MAX);
  if (before === undefined) throw new JobFileError("it is missing");
  await replaceJobFile(path, `${before}${text}`);
}

/** Removes a file of the runner; a missing one is fine. */
export function removeJobFile(path: string): Promise<void> {
  return rm(path, { force: true });
}

/** Returns whether a path is a folder or something below it. Both are real paths. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way.split(/[\\/]/, 1)[0] !== "..";
}

/** A file or folder that is held: `path` leads to it, whatever has become of its name. */
interface Held {
  readonly stats: Stats;
  readonly path: string;
  [Symbol.asyncDispose](): Promise<void>;
}

const isLinux = process.platform === "linux";
/** The path of a held file is a link of the kernel on Linux. */
const NO_FOLLOW_UNLESS_HELD = isLinux ? 0 : NO_FOLLOW;

/** Takes hold of what a path names, without opening it. @throws JobFileError outside of `root` and without permission */
async function hold(root: string, path: string): Promise<Held | undefined> {
  const home = await realpath(root).catch(ignoreMissing);
  if (home === undefined) return undefined;
  if (!isLinux) return holdByName(home, path);
  const handle = await refuse(() => open(path, O_PATH | NO_FOLLOW)).catch(ignoreMissing);
  if (handle === undefined) return undefined;
  try {
    const own = `/proc/self/fd/${handle.fd}`;
    // The kernel tells where the file lies. A folder on the way to it may have been a link when it was opened.
    if (!isWithin(home, await readlink(own))) throw new JobFileError("outside of its folder", true);
    const stats = await handle.stat();
    return { stats, path: own, [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Without the handles of Linux a folder on the way may become a link between the check and the opening. Containers of
 * these systems run in a virtual machine, and what an opened file is, is decided by its kind and its place alone.
 */
async function holdByName(home: string, path: string): Promise<Held | undefined> {
  const stats = await refuse(() => lstat(path)).catch(ignoreMissing);
  if (stats === undefined) return undefined;
  const real = stats.isSymbolicLink() ? undefined : await realpath(path);
  if (real !== undefined && !isWithin(home, real))
    throw new JobFileError("outside of its folder", true);
  return { stats, path: real ?? path, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** Turns the refusals of the system that a job can cause into JobFileErrors. */
async function refuse<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const words = REFUSALS[codeOf(error)];
    throw words === undefined ? error : new JobFileError(words);
  }
}

const REFUSALS: Readonly<Record<string, string>> = {
  EACCES: "the runner may not read it",
  EPERM: "the runner may not read it",
  EAGAIN: "another program holds it",
  EEXIST: "something else has its name",
  EISDIR: "a folder, not a file",
  ELOOP: "a link, not a file",
  ENAMETOOLONG: "its path is too long",
  ENXIO: "not a file",
};

function toKind(stats: Stats): string {
  if (stats.isSymbolicLink()) return "a link";
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

function tooLarge(bytesMax: number): JobFileError {
  return new JobFileError(`larger than ${bytesMax} bytes`);
}

function ignoreMissing(error: unknown): undefined {
  if (!["ENOENT", "ENOTDIR"].includes(codeOf(error))) throw error;
}

function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof JobFileError)) throw error;
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
