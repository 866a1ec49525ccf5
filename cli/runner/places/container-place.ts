import { execFile } from "node:child_process";
import { access, constants, rm, writeFile } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, posix, relative } from "node:path";
import type { System } from "../../system.ts";
import type { JobProcesses } from "./job-processes.ts";
import { type JobFolders, type OutputSink, type Place, PlaceError } from "./place.ts";

export interface ContainerPlaceDeps {
  /** Path of docker or podman. */
  readonly engine: string;
  readonly image: string;
  /** Unique to the job; the container's name is made of it. */
  readonly mark: string;
  /** OWNER/NAME. */
  readonly repository: string;
  /** Variables that the container has from its start. */
  readonly env: Readonly<Record<string, string>>;
  readonly folders: JobFolders;
  readonly processes: JobProcesses;
  /** Variables of the engine's own program. */
  readonly engineEnv: Readonly<Record<string, string>>;
  readonly newName: (prefix: string) => string;
  /** Receives the engine's output while it creates the container. */
  readonly sink: OutputSink;
  readonly signal: AbortSignal;
}

const TEMP = "/croft/temp";
const ACTIONS = "/croft/actions";

/** Label of the containers of jobs; its value is the mark of the job. */
export const CONTAINER_LABEL = "croft-job";

/**
 * Makes a container in which all steps of a job run, with the folders of the job mounted. It gets no other folder and no
 * privileges. @throws PlaceError when the engine cannot make it
 */
export async function createContainerPlace(deps: ContainerPlaceDeps): Promise<Place> {
  const { engine, image, mark, folders, processes, engineEnv, newName, sink, signal } = deps;
  const name = `croft-job-${mark}`;
  const workspace = `/workspace/${deps.repository}`;
  const never = new AbortController().signal;
  const call = (words: readonly string[], until = never, to: OutputSink = sink) =>
    processes.run({
      argv: [engine, ...words],
      env: engineEnv,
      cwd: folders.root,
      sink: to,
      signal: until,
    });
  const mount = (from: string, to: string) => ["--volume", `${from}:${to}`];
  const variables = Object.entries(deps.env).flatMap(([key, value]) => [
    "--env",
    `${key}=${value}`,
  ]);
  const created = await call(
    [
      "create",
      ...["--name", name, "--label", `${CONTAINER_LABEL}=${mark}`],
      // The first process ignores other signals, and podman waits ten seconds for it.
      ...["--stop-signal", "SIGKILL"],
      ...mount(folders.workspace, workspace),
      ...mount(folders.temp, TEMP),
      ...mount(folders.actions, ACTIONS),
      ...["--workdir", workspace, ...variables, "--entrypoint", "tail"],
      ...[image, "-f", "/dev/null"],
    ],
    signal,
  );
  if (created !== 0)
    throw new PlaceError(`${basename(engine)} cannot create a container of ${image}`);
  if ((await call(["start", name], signal)) !== 0) {
    await call(["rm", "--force", "--volumes", name]);
    throw new PlaceError(`${basename(engine)} cannot start the container of ${image}`);
  }

  return {
    workspace,
    temp: TEMP,
    description: { container: { id: name } },
    node: ["node"],
    toStepPath,
    hasProgram: async (program) =>
      (await call(["exec", name, "sh", "-c", `command -v ${toWord(program)}`], never, SILENT)) ===
      0,
    async run({ argv, env, path, cwd, sink: to, signal: until }) {
      const id = newName("command-");
      const pidFile = `${TEMP}/${id}.pid`;
      const script = join(folders.temp, `${id}.sh`);
      await writeFile(script, toScript({ argv, env, path, cwd, pidFile }), { mode: 0o600 });
      // The engine's client does not pass signals on: the process is ended from within.
      const stop = () => {
        const kill = `kill -TERM -"$(cat ${pidFile})" 2>/dev/null || kill -TERM "$(cat ${pidFile})"`;
        void call(["exec", name, "sh", "-c", kill], never, SILENT).catch(() => undefined);
      };
      until.addEventListener("abort", stop, { once: true });
      try {
        return await call(["exec", name, "sh", `${TEMP}/${basename(script)}`], until, to);
      } finally {
        until.removeEventListener("abort", stop);
        await rm(script, { force: true });
      }
    },
    async install(folder, target) {
      const destination = posix.resolve(workspace, target);
      if (destination !== workspace && !destination.startsWith(`${workspace}/`))
        throw new PlaceError(`${target} is outside of the workspace`);
      const clear = `mkdir -p ${toWord(destination)} && rm -rf ${toWord(`${destination}/.git`)}`;
      const cleared = await call(["exec", name, "sh", "-c", clear]);
      // Copied by the engine: a link that a step has made leads nowhere outside of the container.
      const copied =
        cleared === 0 ? await call(["cp", `${folder}/.`, `${name}:${destination}`]) : cleared;
      if (copied !== 0) throw new PlaceError(`${basename(engine)} cannot copy into the container`);
    },
    async end() {
      await call(["rm", "--force", "--volumes", name], never, SILENT);
    },
  };

  function toStepPath(path: string): string {
    const found = [
      [folders.workspace, workspace],
      [folders.temp, TEMP],
      [folders.actions, ACTIONS],
    ].find(([from = ""]) => !relative(from, path).startsWith(".."));
    const [from = "", to = ""] = found ?? [];
    return posix.join(to, relative(from, path));
  }
}

/** Removes the containers that jobs with this mark have left. */
export async function removeContainers(
  engine: string,
  mark: string,
  {
    processes,
    env,
    cwd,
  }: {
    readonly processes: JobProcesses;
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string;
  },
): Promise<void> {
  const argv = [engine, "rm", "--force", "--volumes", `croft-job-${mark}`];
  const { signal } = new AbortController();
  await processes.run({ argv, env, cwd, sink: SILENT, signal });
}

/**
 * Reads `container` of a job: the image. @throws PlaceError for options that a repository must not use on the runner's
 * machine
 */
export function toContainerImage(container: Readonly<Record<string, unknown>> | string): string {
  if (typeof container === "string") return checkImage(container);
  for (const key of ["volumes", "options", "credentials", "ports"])
    if (container[key] !== undefined && container[key] !== null && container[key] !== "")
      throw new PlaceError(`container.${key} is not supported by the built-in runner`);
  return checkImage(String(container["image"] ?? ""));
}

/** An image that begins with a dash would be an option of the engine. */
function checkImage(image: string): string {
  if (image !== "" && !/^[\w.]/.test(image))
    throw new PlaceError(`${JSON.stringify(image)} is no name of an image`);
  return image;
}

interface ScriptParts {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly path: readonly string[];
  readonly cwd: string;
  readonly pidFile: string;
}

/**
 * Returns a script that starts a program. Variables are in the file, not in arguments, which other users of the machine
 * can read.
 */
function toScript({ argv, env, path, cwd, pidFile }: ScriptParts): string {
  const { PATH, ...others } = env;
  const isName = (name: string) => /^[A-Za-z_]\w*$/.test(name);
  const exported = Object.entries(others).filter(([name]) => isName(name));
  // A shell exports no names with dashes, which inputs of actions have.
  const odd = Object.entries(others).filter(([name]) => !isName(name) && !name.includes("="));
  const words = odd.map(([name, value]) => toWord(`${name}=${value}`));
  const search = path.map((folder) => `${toWord(folder)}:`).join("");
  return [
    `echo $$ > ${pidFile}`,
    ...exported.map(([name, value]) => `export ${name}=${toWord(value)}`),
    ...(PATH === undefined ? [] : [`PATH=${toWord(PATH)}`]),
    `export PATH=${search}"$PATH"`,
    `cd ${toWord(cwd)} || exit 1`,
    `exec ${words.length === 0 ? "" : `env ${words.join(" ")} `}${argv.map(toWord).join(" ")}`,
    "",
  ].join("\n");
}

const toWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const SILENT: OutputSink = {
  lineCharacters: () => 1,
  line: () => undefined,
  isFull: () => false,
  drained: () => Promise.resolve(),
};

/** Time limit for the version query of an engine. */
const PROBE_MS = 10_000;

/**
 * Returns the path of docker or podman on the search path, the first that answers: a docker whose daemon does not run
 * is no use beside a podman. If none answers, the first installed one; undefined without either.
 */
export async function findEngine(env: System["env"]): Promise<string | undefined> {
  const folders = (env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  const found: string[] = [];
  for (const name of ["docker", "podman"])
    for (const folder of folders)
      if (await isExecutable(join(folder, name))) {
        found.push(join(folder, name));
        break;
      }
  for (const path of found) if (found.length === 1 || (await answers(path, env))) return path;
  return found[0];
}

/** The version of docker is that of its daemon too. */
async function answers(engine: string, env: System["env"]): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { env: toEngineEnvironment(env), timeout: PROBE_MS };
    execFile(engine, ["version"], options, (error) => resolve(error === null));
  });
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
