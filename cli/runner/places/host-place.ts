import {
  access,
  constants,
  cp,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { System } from "../../system.ts";
import type { JobProcesses } from "./job-processes.ts";
import { type JobFolders, type Place, PlaceError } from "./place.ts";

export interface HostPlaceDeps {
  readonly env: System["env"];
  readonly folders: JobFolders;
  readonly processes: JobProcesses;
  /** The program that runs JavaScript actions. */
  readonly node: readonly string[];
}

/** Variables of the runner that steps on the host see. Others may be secrets of the runner's owner. */
const PASSED_ON =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|HTTPS?_PROXY|NO_PROXY|SystemRoot|COMSPEC|PATHEXT|TEMP|TMP|USERPROFILE)$/i;

/** Runs steps on this machine, unconfined, as the runner's user. */
export function createHostPlace({ env: own, folders, processes, node }: HostPlaceDeps): Place {
  const base = Object.fromEntries(
    Object.entries(own).flatMap(([name, value]) =>
      value !== undefined && PASSED_ON.test(name) ? [[name, value] as const] : [],
    ),
  );
  const searchPath = base["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
  return {
    workspace: folders.workspace,
    temp: folders.temp,
    description: {},
    node,
    toStepPath: (path) => path,
    async hasProgram(name) {
      for (const folder of searchPath.split(delimiter))
        if (folder !== "" && (await isExecutable(join(folder, name)))) return true;
      return false;
    },
    async run({ env, path, ...command }) {
      if (!(await isFolder(command.cwd)))
        throw new PlaceError(`the folder ${command.cwd} does not exist`);
      return processes.run({
        ...command,
        env: { ...base, ...env, PATH: [...path, env["PATH"] ?? searchPath].join(delimiter) },
      });
    },
    async install(folder, target) {
      const destination = resolve(folders.workspace, target);
      await mkdir(dirname(destination), { recursive: true });
      const parent = await realpath(dirname(destination));
      const home = await realpath(folders.workspace);
      if (destination !== folders.workspace && !isWithin(home, parent))
        throw new PlaceError(`${target} is outside of the workspace`);
      if (destination !== folders.workspace)
        await rm(destination, { recursive: true, force: true });
      await mkdir(destination, { recursive: true });
      for (const name of await readdir(folder)) {
        await rm(join(destination, name), { recursive: true, force: true });
        await move(join(folder, name), join(destination, name));
      }
    },
    // A host job has nothing to remove besides its processes.
    end: () => Promise.resolve(),
  };
}

/** Returns whether a path is a folder or something below it. Both are real paths. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way.split(/[\\/]/, 1)[0] !== "..";
}

/** A checkout may be on another file system than the workspace. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    await cp(from, to, { recursive: true, verbatimSymlinks: true });
  }
}

async function isFolder(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isDirectory() === true;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
