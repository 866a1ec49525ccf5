import { join } from "node:path";
import { createJobFile, JobFileError, readJobFile } from "../files/job-files.ts";

/** The files by which a step returns values, as the runner sees them. */
export interface CommandFiles {
  /** The folder of the files, which a step can fill but not replace. */
  readonly folder: string;
  readonly output: string;
  readonly env: string;
  readonly path: string;
  readonly state: string;
  readonly summary: string;
}

/** The values that a step has written. */
export interface StepValues {
  readonly outputs: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly path: readonly string[];
  readonly state: Readonly<Record<string, string>>;
}

/** A file that is not in the form that the runner reads. The message is shown in the log. */
export class CommandFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandFileError";
  }
}

/** Largest file that is read. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
/** Variables that would make every later step run other code. */
const REFUSED_VARIABLES: ReadonlySet<string> = new Set(["NODE_OPTIONS"]);

/**
 * Makes the empty files of a step, whose names begin with `name`, side by side: a folder of their own could be replaced by
 * a link. @throws CommandFileError when a step before has made something with one of the names
 */
export async function createCommandFiles(folder: string, name: string): Promise<CommandFiles> {
  const toPath = (kind: string) => join(folder, `${name}-${kind}`);
  const files = {
    output: toPath("output"),
    env: toPath("env"),
    path: toPath("path"),
    state: toPath("state"),
    summary: toPath("summary"),
  };
  for (const path of Object.values(files))
    await named("a command file", () => createJobFile(path, ""));
  return { folder, ...files };
}

/** Reads the values that a step has written to its command files. @throws CommandFileError */
export async function readCommandFiles(files: CommandFiles): Promise<StepValues> {
  const text = (kind: FileKind) => read(files, kind);
  const env = parseValues(await text("env"), "GITHUB_ENV");
  const refused = Object.keys(env).find((name) => REFUSED_VARIABLES.has(name.toUpperCase()));
  if (refused !== undefined) throw new CommandFileError(`GITHUB_ENV may not set ${refused}`);
  return {
    outputs: parseValues(await text("output"), "GITHUB_OUTPUT"),
    env,
    path: (await text("path")).split(/\r?\n/).filter((line) => line.trim() !== ""),
    state: parseValues(await text("state"), "GITHUB_STATE"),
  };
}

/** Largest summary of a step. */
export const SUMMARY_BYTES_MAX = 1024 * 1024;

/** Reads the summary that a step has written. @throws CommandFileError */
export function readSummary(files: CommandFiles): Promise<string> {
  return read(files, "summary", SUMMARY_BYTES_MAX);
}

/** Parses lines of `NAME=value`, and values of several lines as `NAME<<DELIMITER`. @throws CommandFileError */
export function parseValues(text: string, file: string): Record<string, string> {
  const values = new Map<string, string>();
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (line === "") continue;
    const [, name, sign, rest = ""] = /^([^=]*?)(<<|=)(.*)$/s.exec(line) ?? [];
    if (name === undefined || name.trim() === "")
      throw new CommandFileError(`${file}: invalid line ${JSON.stringify(line.slice(0, 80))}`);
    if (sign === "=") {
      values.set(name, rest);
      continue;
    }
    const end = lines.indexOf(rest, at + 1);
    if (rest === "" || end === -1)
      throw new CommandFileError(
        `${file}: the value of ${name} is not closed by ${JSON.stringify(rest.slice(0, 80))}`,
      );
    values.set(name, lines.slice(at + 1, end).join("\n"));
    at = end;
  }
  return Object.fromEntries(values);
}

type FileKind = Exclude<keyof CommandFiles, "folder">;

const VARIABLES: Readonly<Record<FileKind, string>> = {
  output: "GITHUB_OUTPUT",
  env: "GITHUB_ENV",
  path: "GITHUB_PATH",
  state: "GITHUB_STATE",
  summary: "GITHUB_STEP_SUMMARY",
};

/** A step may have removed its file, made it large or put something else in its place. */
async function read(
  files: CommandFiles,
  kind: FileKind,
  bytesMax = FILE_BYTES_MAX,
): Promise<string> {
  const variable = VARIABLES[kind];
  const text = await named(variable, () => readJobFile(files.folder, files[kind], bytesMax));
  // No program takes a variable or an argument with it.
  if (text?.includes("\0") === true && kind !== "summary")
    throw new CommandFileError(`${variable}: a value has a NUL character`);
  return text ?? "";
}

/** Says which file it is that the runner does not open. */
async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof JobFileError) throw new CommandFileError(`${name}: ${error.message}`);
    throw error;
  }
}
