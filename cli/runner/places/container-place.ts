import { basename, join, posix, relative } from "node:path";
import { createJobFile, isWithin, removeJobFile } from "../files/job-files.ts";
import { CONTAINER_LABEL, SILENT, toContainerName } from "./engine.ts";
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
const FILES = "/croft/files";
const SCRIPTS = "/croft/scripts";
/** A folder of the container itself. */
const ACTIONS = "/croft/actions";

/**
 * Makes a container in which all steps of a job run, with folders of the job mounted, those that the runner writes for
 * reading alone. It gets no other folder and no privileges. `clearTaskFolder` removes it, also one that was made by half.
 * @throws PlaceError when the engine cannot make it
 */
export async function createContainerPlace(deps: ContainerPlaceDeps): Promise<Place> {
  const { engine, image, mark, folders, processes, engineEnv, newName, sink, signal } = deps;
  const name = toContainerName(mark);
  const workspace = `/workspace/${deps.repository}`;
  const call = (words: readonly string[], until: AbortSignal, to: OutputSink = sink) =>
    processes.run({
      argv: [engine, ...words],
      env: engineEnv,
      cwd: folders.root,
      sink: to,
      signal: until,
    });
  const shell = (script: string, until: AbortSignal, user: readonly string[] = []) =>
    call(["exec", ...user, name, "sh", "-c", script], until);
  const mount = (from: string, to: string, mode = "") => ["--volume", `${from}:${to}${mode}`];
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
      ...mount(folders.files, FILES),
      ...mount(folders.scripts, SCRIPTS, ":ro"),
      ...["--workdir", workspace, ...variables, "--entrypoint", "tail"],
      ...[image, "-f", "/dev/null"],
    ],
    signal,
  );
  if (created !== 0)
    throw new PlaceError(`${basename(engine)} cannot create a container of ${image}`);
  if ((await call(["start", name], signal)) !== 0)
    throw new PlaceError(`${basename(engine)} cannot start the container of ${image}`);

  return {
    workspace,
    temp: TEMP,
    description: { container: { id: name } },
    node: ["node"],
    toStepPath,
    hasProgram: async (program, until) =>
      (await call(["exec", name, "sh", "-c", `command -v ${toWord(program)}`], until, SILENT)) ===
      0,
    async run({ argv, env, path, cwd, sink: to, signal: until }) {
      const id = newName("command-");
      const pidFile = `${TEMP}/${id}.pid`;
      const script = join(folders.scripts, `${id}.sh`);
      await createJobFile(script, toScript({ argv, env, path, cwd, pidFile }));
      // The engine's client does not pass signals on: the process is ended from within.
      const stop = () => {
        const kill = `kill -TERM -"$(cat ${pidFile})" 2>/dev/null || kill -TERM "$(cat ${pidFile})"`;
        const whileItRuns = new AbortController().signal;
        call(["exec", name, "sh", "-c", kill], whileItRuns, SILENT).catch((error: unknown) =>
          sink.line(`::warning::the step was not asked to end: ${String(error)}`, 0),
        );
      };
      until.addEventListener("abort", stop, { once: true });
      try {
        return await call(["exec", name, "sh", `${SCRIPTS}/${id}.sh`], until, to);
      } finally {
        until.removeEventListener("abort", stop);
        // Its variables may be secrets.
        await removeJobFile(script);
      }
    },
    async install({ folder, target, stale, signal: until }) {
      const destination = posix.resolve(workspace, target);
      if (destination !== workspace && !destination.startsWith(`${workspace}/`))
        throw new PlaceError(`${target} is outside of the workspace`);
      // All of it happens in the container: a link that a step has made leads nowhere outside of it.
      const cleared = await clear(destination, stale, until);
      const copied =
        cleared === 0
          ? await call(["cp", `${folder}/.`, `${name}:${destination}`], until)
          : cleared;
      if (copied !== 0) throw new PlaceError(`${basename(engine)} cannot copy into the container`);
    },
    async offerAction(folder, until) {
      const destination = `${ACTIONS}/${basename(folder)}`;
      const made = await shell(`mkdir -p ${toWord(destination)}`, until, ["--user", "0"]);
      const copied =
        made === 0 ? await call(["cp", `${folder}/.`, `${name}:${destination}`], until) : made;
      if (copied !== 0) throw new PlaceError(`${basename(engine)} cannot copy into the container`);
      return destination;
    },
  };

  /** Empties a folder of the container, or removes some of its files. */
  async function clear(
    destination: string,
    stale: readonly string[] | undefined,
    until: AbortSignal,
  ): Promise<number> {
    const enter = `mkdir -p ${toWord(destination)} && cd ${toWord(destination)}`;
    if (stale === undefined) return shell(`${enter} && rm -rf ./* ./.[!.]* ./..?*`, until);
    const list = `${newName("stale-")}.txt`;
    const names = stale.map((file) => `./${file}\0`).join("");
    await createJobFile(join(folders.scripts, list), names, 0o644);
    return shell(`${enter} && rm -rf .git && xargs -0 rm -f -- < ${SCRIPTS}/${list}`, until);
  }

  function toStepPath(path: string): string {
    const found = [
      [folders.workspace, workspace],
      [folders.temp, TEMP],
      [folders.files, FILES],
      [folders.scripts, SCRIPTS],
    ].find(([from = ""]) => isWithin(from, path));
    if (found === undefined) throw new PlaceError(`${path} is not in the container`);
    const [from = "", to = ""] = found;
    return posix.join(to, relative(from, path));
  }
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
