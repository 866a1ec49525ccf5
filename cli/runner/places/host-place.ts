import { delimiter, dirname, join, resolve } from "node:path";
import type { System } from "../../system.ts";
import { findRealPath, isWithin } from "../files/job-files.ts";
import {
  emptyFolder,
  isFolder,
  makeFolders,
  moveContents,
  removeFolder,
} from "../files/job-folders.ts";
import { findProgram } from "./engine.ts";
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
    hasProgram: async (name) => (await findProgram(searchPath, name)) !== undefined,
    async run({ env, path, ...command }) {
      if (!(await isFolder(command.cwd)))
        throw new PlaceError(`the folder ${command.cwd} does not exist`);
      return processes.run({
        ...command,
        env: { ...base, ...env, PATH: [...path, env["PATH"] ?? searchPath].join(delimiter) },
      });
    },
    async install({ folder, target, stale }) {
      const destination = resolve(folders.workspace, target);
      if (!isWithin(folders.workspace, destination))
        throw new PlaceError(`${target} is outside of the workspace`);
      // An earlier step may have removed the workspace itself.
      await makeFolders(folders.workspace);
      await makeFolders(dirname(destination));
      const parent = destination === folders.workspace ? destination : dirname(destination);
      if ((await findRealPath(folders.workspace, parent)) === undefined)
        throw new PlaceError(`${target} is outside of the workspace`);
      const left = await (stale === undefined
        ? emptyFolder(destination)
        : removeStale(destination, stale));
      if (left !== undefined) throw new PlaceError(`the former files of ${target} stay: ${left}`);
      await moveContents(folder, destination);
    },
    offerAction: (folder) => Promise.resolve(folder),
  };
}

/** Removes files that the new commit of a checkout lacks. Returns a path that stays. */
async function removeStale(
  destination: string,
  stale: readonly string[],
): Promise<string | undefined> {
  let left: string | undefined;
  for (const file of stale) {
    const path = join(destination, file);
    // What the job has put in the place of a folder is not followed.
    if ((await findRealPath(destination, dirname(path))) === dirname(path))
      left ??= await removeFolder(path);
  }
  return left;
}
