import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { System } from "../../system.ts";
import { ProcessStartError, startProcess } from "../../../storage/start-process.ts";
import type { Sleep } from "../retry.ts";
import type { JobProcesses } from "./job-processes.ts";
import type { OutputSink } from "./place.ts";

/** Time for a call of the engine that ends something. Its daemon may not respond, and the runner goes on then. */
const ENGINE_MS = 60_000;

export interface EngineDeps {
  /** Path of docker or podman. */
  readonly engine: string;
  readonly processes: JobProcesses;
  /** Variables of the engine's own program. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly sleep: Sleep;
}

/** Removes the container of the job with this mark. Returns false when it may still run. */
export async function removeContainer(deps: EngineDeps, mark: string): Promise<boolean> {
  const name = toContainerName(mark);
  if ((await callEngine(deps, ["rm", "--force", "--volumes", name])) === 0) return true;
  // A docker before version 20.10 fails for a container that is gone.
  const rows: string[] = [];
  const words = ["ps", "--all", "--quiet", "--filter", `label=${CONTAINER_LABEL}=${mark}`];
  const code = await callEngine(deps, words, { ...SILENT, line: (row) => void rows.push(row) });
  return code === 0 && rows.every((row) => row.trim() === "");
}

/**
 * Removes the contents of folders as the administrator of a container: files that steps have made as other users, which
 * the runner cannot remove by itself. The container gets these folders alone. What stays is for the caller to find out.
 */
export async function emptyAsRoot(
  deps: EngineDeps,
  { image, mark, folders }: { image: string; mark: string; folders: readonly string[] },
): Promise<void> {
  const name = `${toContainerName(mark)}-cleaner`;
  const mounts = folders.flatMap((from, at) => ["--volume", `${from}:/croft/left/${at}`]);
  const all = '"$d"/* "$d"/.[!.]* "$d"/..?*';
  const script = `for d in /croft/left/*; do chmod -R u+rwx ${all}; rm -rf ${all}; done`;
  await callEngine(deps, [
    "run",
    ...["--rm", "--name", name, "--user", "0:0", "--network", "none", "--pull", "never"],
    ...[...mounts, "--entrypoint", "sh", image, "-c", script],
  ]);
  await callEngine(deps, ["rm", "--force", "--volumes", name]);
}

/** Runs the engine to its end, but for a limited time. Returns its exit code. */
async function callEngine(
  { engine, processes, env, cwd, sleep }: EngineDeps,
  words: readonly string[],
  sink: OutputSink = SILENT,
): Promise<number> {
  const time = new AbortController();
  const done = new AbortController();
  sleep(ENGINE_MS, done.signal).then(
    () => time.abort(),
    // It has ended in time.
    () => undefined,
  );
  try {
    return await processes.run({ argv: [engine, ...words], env, cwd, sink, signal: time.signal });
  } finally {
    done.abort();
  }
}

/** Label of the containers of jobs; its value is the mark of the job. */
export const CONTAINER_LABEL = "croft-job";

export function toContainerName(mark: string): string {
  return `croft-job-${mark}`;
}

/** Drops the output of a program. */
export const SILENT: OutputSink = {
  lineCharacters: () => 1_000,
  line: () => undefined,
  isFull: () => false,
  drained: () => Promise.resolve(),
};

/** Time limit for the version query of an engine. */
const PROBE_MS = 10_000;

/**
 * Returns the path of docker or podman on the search path, the first that responds: a docker whose daemon does not run
 * cannot run jobs. Undefined when none responds.
 */
export async function findEngine(env: System["env"]): Promise<string | undefined> {
  for (const name of ["docker", "podman"]) {
    const path = await findProgram(env["PATH"] ?? "", name);
    if (path !== undefined && (await responds(path, env))) return path;
  }
  return undefined;
}

/** Returns the path of a program on a search path. */
export async function findProgram(searchPath: string, name: string): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter)) {
    const path = join(folder, name);
    if (isAbsolute(folder) && (await isExecutable(path))) return path;
  }
  return undefined;
}

/** The version of docker is that of its daemon too. */
async function responds(engine: string, env: System["env"]): Promise<boolean> {
  try {
    await using probe = startProcess(engine, ["version"], {
      env: toEngineEnvironment(env),
      timeout: PROBE_MS,
      killSignal: "SIGKILL",
      stdio: ["ignore", "ignore", "ignore"],
    });
    return (await probe.exited).exitCode === 0;
  } catch (error) {
    if (error instanceof ProcessStartError) return false;
    throw error;
  }
}

/** Returns the variables that docker and podman read. */
export function toEngineEnvironment(env: System["env"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined &&
      /^(PATH|HOME|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+|REGISTRY_AUTH_FILE)$/.test(name)
        ? [[name, value] as const]
        : [],
    ),
  );
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
