import { basename, dirname, isAbsolute, join } from "node:path";
import type { System } from "../system.ts";
import {
  createJobFile,
  createJobFolder,
  JobFileError,
  listJobFolder,
  readJobFile,
} from "./files/job-files.ts";
import { makeFolders, removeFolder, renameFolder } from "./files/job-folders.ts";
import {
  emptyAsRoot,
  type EngineDeps,
  removeContainer,
  toEngineEnvironment,
} from "./places/engine.ts";
import { createJobProcesses, type JobProcesses } from "./places/job-processes.ts";
import type { JobFolders } from "./places/place.ts";

/** The container of a task, as far as a later process must know it. */
export interface TaskContainer {
  readonly engine: string;
  readonly image: string;
}

/** Names of the files by which a later process of the runner finds what a task has left. */
const RECORD = { mark: "mark", engine: "engine", image: "image" };
const RECORD_BYTES_MAX = 4_096;
/** Folders of tasks that could not be removed begin with this. */
const ASIDE = "left-";

/** Makes the folder of a task, with the record of its mark. A folder that has its name gives way. */
export async function createTaskFolder(root: string, id: number, mark: string): Promise<string> {
  const folder = join(root, String(id));
  await makeFolders(root);
  await moveAside(folder, mark);
  await createJobFolder(folder);
  await createJobFile(join(folder, RECORD.mark), mark);
  return folder;
}

/** Makes the folders of a job within the folder of its task. */
export async function createJobFolders(root: string): Promise<JobFolders> {
  const folders = {
    root,
    workspace: join(root, "workspace"),
    temp: join(root, "temp"),
    files: join(root, "files"),
    scripts: join(root, "scripts"),
    actions: join(root, "actions"),
    checkouts: join(root, "private"),
  };
  const { root: _, ...inner } = folders;
  for (const path of Object.values(inner)) await createJobFolder(path);
  return folders;
}

/** Folders that a container of the job may change. */
const OPEN: ReadonlySet<string> = new Set(["workspace", "temp", "files"]);

/** Records the container before it is made: the engine outlives a killed runner. */
export async function recordContainer(
  folder: string,
  { engine, image }: TaskContainer,
): Promise<void> {
  await createJobFile(join(folder, RECORD.engine), engine);
  await createJobFile(join(folder, RECORD.image), image);
}

/** Returns the names of the folders of tasks that an earlier process has left, and of those that were moved aside. */
export async function listTaskFolders(
  root: string,
): Promise<{ readonly unfinished: readonly string[]; readonly aside: readonly string[] }> {
  const names: string[] = [];
  for await (const { name } of listJobFolder(root, root)) names.push(name);
  return {
    unfinished: names.filter((name) => /^\d+$/.test(name)),
    aside: names.filter((name) => name.startsWith(ASIDE)),
  };
}

export interface ClearDeps {
  readonly system: Pick<System, "env" | "platform" | "sleep">;
  /** The processes of the job; undefined for a job of an earlier process, which are found by its mark. */
  readonly processes?: JobProcesses;
}

/**
 * Ends what a task has left: its container and its processes; then removes its files, tokens and secrets among them. The
 * record stays until `discardTaskFolder`. Returns in words what could not be ended or removed.
 */
export async function clearTaskFolder(
  folder: string,
  { system, processes }: ClearDeps,
): Promise<string | undefined> {
  const { mark, container } = await readRecord(folder);
  const { sleep, platform } = system;
  const own = createJobProcesses({ mark: mark ?? "none", sleep, platform });
  const engine: EngineDeps | undefined = container && {
    engine: container.engine,
    processes: own,
    env: toEngineEnvironment(system.env),
    cwd: dirname(folder),
    sleep,
  };
  try {
    const isGone =
      engine === undefined || (mark !== undefined && (await removeContainer(engine, mark)));
    await processes?.end();
    if (mark !== undefined) await own.end();
    // A container that may run could put links in the way of the removal.
    const left = await removeContents(folder, (name) => isGone || !OPEN.has(name));
    if (!isGone) return `${container?.engine ?? ""} cannot remove the container of the job`;
    if (left === undefined || engine === undefined || mark === undefined) return left;
    const folders = [...OPEN].map((name) => join(folder, name));
    await emptyAsRoot(engine, { image: container?.image ?? "", mark, folders });
    return await removeContents(folder, () => true);
  } finally {
    if (mark !== undefined) await own.end();
  }
}

/** Removes what is in the folder of a task, except its record. Returns a path that stays. */
async function removeContents(
  folder: string,
  isRemoved: (name: string) => boolean,
): Promise<string | undefined> {
  let left: string | undefined;
  for await (const { name } of listJobFolder(folder, folder))
    if (!Object.values(RECORD).includes(name) && isRemoved(name))
      left ??= await removeFolder(join(folder, name));
  return left;
}

/**
 * Removes the folder of a task that was cleared. If something stays, moves it aside for the next start of the runner,
 * and tells it. @param left what `clearTaskFolder` returned
 */
export async function discardTaskFolder(
  folder: string,
  left: string | undefined,
  note: (line: string) => void,
): Promise<void> {
  const reason = left ?? (await removeFolder(folder));
  if (reason === undefined) return;
  const isAside = basename(folder).startsWith(ASIDE);
  const { mark } = await readRecord(folder);
  const place = isAside ? folder : await moveAside(folder, mark ?? "unknown");
  note(`${place} stays: ${reason}`);
}

/** Renames a folder so that the task may run again. Returns its new path; a missing folder is fine. */
async function moveAside(folder: string, mark: string): Promise<string> {
  const aside = join(dirname(folder), `${ASIDE}${basename(folder)}-${mark}`);
  await renameFolder(folder, aside);
  return aside;
}

interface TaskRecord {
  readonly mark: string | undefined;
  readonly container: TaskContainer | undefined;
}

/** A job of the host may have damaged its record. */
async function readRecord(folder: string): Promise<TaskRecord> {
  const read = async (name: string) => {
    try {
      return (await readJobFile(folder, join(folder, name), RECORD_BYTES_MAX)) ?? "";
    } catch (error) {
      if (error instanceof JobFileError) return "";
      throw error;
    }
  };
  const mark = await read(RECORD.mark);
  const [engine, image] = [await read(RECORD.engine), await read(RECORD.image)];
  const isEngine = isAbsolute(engine) && ["docker", "podman"].includes(basename(engine));
  return {
    mark: /^[0-9a-f]+$/.test(mark) ? mark : undefined,
    container: isEngine ? { engine, image } : undefined,
  };
}
