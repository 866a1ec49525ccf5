import { mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The files by which a step returns values, as the runner sees them. */
export interface CommandFiles {
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

/** Makes the empty files of a step in a new folder. */
export async function createCommandFiles(folder: string): Promise<CommandFiles> {
  await mkdir(folder, { mode: 0o700 });
  const files = {
    output: join(folder, "output"),
    env: join(folder, "env"),
    path: join(folder, "path"),
    state: join(folder, "state"),
    summary: join(folder, "summary"),
  };
  for (const path of Object.values(files)) await writeFile(path, "", { mode: 0o600 });
  return files;
}

/** Reads the values that a step has written to its command files. @throws CommandFileError */
export async function readCommandFiles(files: CommandFiles): Promise<StepValues> {
  const env = parseValues(await read(files.env), "GITHUB_ENV");
  const refused = Object.keys(env).find((name) => REFUSED_VARIABLES.has(name.toUpperCase()));
  if (refused !== undefined) throw new CommandFileError(`GITHUB_ENV may not set ${refused}`);
  return {
    outputs: parseValues(await read(files.output), "GITHUB_OUTPUT"),
    env,
    path: (await read(files.path)).split(/\r?\n/).filter((line) => line.trim() !== ""),
    state: parseValues(await read(files.state), "GITHUB_STATE"),
  };
}

/** Largest summary of a step. */
const SUMMARY_BYTES_MAX = 1024 * 1024;

/** Reads the summary that a step has written. @throws CommandFileError */
export async function readSummary({ summary }: CommandFiles): Promise<string> {
  const text = await read(summary);
  if (Buffer.byteLength(text) > SUMMARY_BYTES_MAX)
    throw new CommandFileError(`GITHUB_STEP_SUMMARY has at most ${SUMMARY_BYTES_MAX} bytes`);
  return text;
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

/** A step may have removed its file or made it large. */
async function read(path: string): Promise<string> {
  let file;
  try {
    file = await open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new CommandFileError("a command file is not a file any more");
    if (stats.size > FILE_BYTES_MAX)
      throw new CommandFileError(`a command file has at most ${FILE_BYTES_MAX} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
