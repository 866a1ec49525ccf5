import { otherVariables, type Setting } from "./declare.ts";
import {
  pathsOf,
  type SettingPaths,
  type PathEnvironment,
  toAbsolutePath,
  toSettingPaths,
} from "./paths.ts";
import type { ReadContext } from "./types.ts";
import {
  listSettings,
  settingDeclarations,
  type SettingName,
  type Settings,
  toKey,
  toVariable,
} from "./settings.ts";
import { suggest } from "./suggest.ts";

/** The source of a value, strongest first. `environment_file` is the `_FILE` twin of a variable. */
export type SettingSource = "flag" | "environment" | "environment_file" | "file" | "default";

/** One resolved value as `croft config list` prints it. */
export interface ResolvedSetting {
  readonly key: string;
  /** The value; `null` when it is not set, stars when it is secret. */
  readonly value: unknown;
  readonly source: SettingSource;
  /** The flag, variable or file that gave it; null for a default. */
  readonly origin: string | null;
  readonly secret: boolean;
}

export interface SettingsInput extends PathEnvironment {
  /** Values of flags by setting name; undefined values and unknown names are ignored. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** The text of the config file; undefined when it is missing. */
  readonly fileText: string | undefined;
  /** Its path, for messages and for the relative paths in it. */
  readonly filePath: string;
  /** Reads a `_FILE` twin; throws when it cannot. */
  readFile(path: string): string;
  /** Parses the config file's YAML; throws with a message for people when it cannot. */
  parseFile(text: string): unknown;
}

/** One invalid setting. `message` is a whole sentence without secrets. */
export interface SettingProblem {
  readonly key: string;
  readonly origin: string;
  readonly message: string;
}

/** Thrown when the settings are invalid. The message lists all problems, one a line. */
export class SettingsError extends Error {
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[]) {
    super(problems.map((problem) => problem.message).join("\n"));
    this.name = "SettingsError";
    this.problems = problems;
  }
}

/**
 * Returns the folders and the path of the config file. Called first, because the config file is needed to resolve the
 * other settings. @throws SettingsError when CROFT_HOME or CROFT_CONFIG cannot be used.
 */
export function resolvePaths(
  input: Omit<SettingsInput, "fileText" | "filePath" | "parseFile">,
): SettingPaths {
  const problems: SettingProblem[] = [];
  const outside = { ...input, fileText: undefined, filePath: "", parseFile: () => ({}) };
  const find = (name: "home" | "config") =>
    readOne(
      name,
      settingDeclarations[name],
      candidates(name, outside, {}, problems),
      outside,
      problems,
    )?.value as string | undefined;
  const locations = { home: find("home"), config: find("config") };
  if (problems.length > 0) {
    throw new SettingsError(problems);
  }
  return toSettingPaths(locations, input);
}

/**
 * All settings, frozen: flag over variable (or its `_FILE` twin) over config file over default. An empty variable
 * counts as unset. Pure except for the two functions in `input`.
 * @throws SettingsError with every problem: unknown keys and variables, wrong types, unreadable twins, bad YAML.
 */
export function resolveSettings(input: SettingsInput): {
  readonly settings: Settings;
  readonly values: readonly ResolvedSetting[];
  readonly paths: SettingPaths;
} {
  const paths = resolvePaths(input);
  const problems: SettingProblem[] = [];
  const fromFile = parseConfigFile(input, problems);
  problems.push(...findUnknownVariables(input.env));
  const settings: Record<string, unknown> = {};
  const values: ResolvedSetting[] = [];
  for (const [name, declared] of listSettings()) {
    const read = readOne(
      name,
      declared,
      candidates(name, input, fromFile, problems),
      input,
      problems,
    );
    const value = read ? read.value : declared.default({ paths, platform: input.platform });
    settings[name] = deepFreeze(value);
    values.push({
      key: toKey(name),
      value: toPrinted(declared, value),
      source: read?.source ?? "default",
      origin: read?.origin ?? null,
      secret: declared.secret,
    });
  }
  if (problems.length > 0) {
    throw new SettingsError(problems);
  }
  return { settings: Object.freeze(settings) as Settings, values, paths };
}

interface Candidate {
  readonly value: unknown;
  readonly source: SettingSource;
  readonly origin: string;
  /** The folder in which its relative paths start. */
  readonly from: string;
}

/** The strongest value that was given, if any. */
function candidates(
  name: SettingName,
  input: SettingsInput,
  fromFile: Readonly<Record<string, unknown>>,
  problems: SettingProblem[],
): Candidate | undefined {
  const key = toKey(name);
  const from = input.workingDirectory;
  const flag = input.flags[name];
  // Read even when a flag is stronger, so that a broken variable is reported at the first start, not at a later one.
  const variable = readVariable(name, input, problems);
  if (flag !== undefined) {
    const origin = settingDeclarations[name].flag?.split(" ")[0] ?? key;
    return { value: flag, source: "flag", origin, from };
  }
  if (variable !== undefined) {
    return variable;
  }
  const value = Object.hasOwn(fromFile, key) ? fromFile[key] : undefined;
  // A key that must not be in the file was reported already; its value does not matter.
  if (value === undefined || value === null || settingDeclarations[name].outsideFile) {
    return undefined;
  }
  const { dirname } = pathsOf(input.platform);
  return { value, source: "file", origin: input.filePath, from: dirname(input.filePath) };
}

function readVariable(
  name: SettingName,
  input: SettingsInput,
  problems: SettingProblem[],
): Candidate | undefined {
  const variable = toVariable(name);
  const twin = `${variable}_FILE`;
  const value = input.env[variable];
  const path = input.env[twin];
  const from = input.workingDirectory;
  if (path === undefined || path === "") {
    return value === undefined || value === ""
      ? undefined
      : { value, source: "environment", origin: variable, from };
  }
  if (value !== undefined && value !== "") {
    problems.push({
      key: toKey(name),
      origin: twin,
      message: `${variable} and ${twin} are both set; unset one of them`,
    });
    return undefined;
  }
  try {
    const text = input
      .readFile(toAbsolutePath(path, from, input))
      .replace(/^\uFEFF/, "")
      .replace(/\r?\n$/, "");
    return { value: text, source: "environment_file", origin: twin, from };
  } catch (error) {
    problems.push({
      key: toKey(name),
      origin: twin,
      message: `${twin} names ${path}, which cannot be read: ${reasonOf(error)}`,
    });
    return undefined;
  }
}

function readOne<T>(
  name: SettingName,
  declared: Setting<T>,
  candidate: Candidate | undefined,
  environment: PathEnvironment,
  problems: SettingProblem[],
): { readonly value: T; readonly source: SettingSource; readonly origin: string } | undefined {
  if (candidate === undefined) {
    return undefined;
  }
  const context: ReadContext = {
    resolvePath: (path) => toAbsolutePath(path, candidate.from, environment),
    pathSeparator: pathsOf(environment.platform).delimiter,
  };
  const value = declared.type.read(candidate.value, context);
  if (value === undefined) {
    const key = toKey(name);
    // The content of a `_FILE` twin is not printed either: a mistyped path could name any file.
    const quiet = declared.secret || candidate.source === "environment_file";
    const got = quiet ? "" : `, not ${quote(candidate.value)}`;
    problems.push({
      key,
      origin: candidate.origin,
      message: `${whereOf(key, candidate)} takes ${declared.type.takes}${got}`,
    });
    return undefined;
  }
  return { value, source: candidate.source, origin: candidate.origin };
}

function whereOf(key: string, { source, origin }: Candidate): string {
  if (source === "file") return `${key} in ${origin}`;
  return source === "environment_file" ? `the file that ${origin} names` : origin;
}

function parseConfigFile(
  input: SettingsInput,
  problems: SettingProblem[],
): Readonly<Record<string, unknown>> {
  if (input.fileText === undefined || input.fileText.trim() === "") {
    return {};
  }
  const origin = input.filePath;
  let parsed: unknown;
  try {
    parsed = input.parseFile(input.fileText) ?? {};
  } catch (error) {
    problems.push({ key: "", origin, message: `${origin} is not valid YAML: ${reasonOf(error)}` });
    return {};
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    problems.push({
      key: "",
      origin,
      message: `${origin} must hold lines of the form "key: value"`,
    });
    return {};
  }
  const settingsByKey = new Map(listSettings().map(([name, declared]) => [toKey(name), declared]));
  for (const key of Object.keys(parsed)) {
    const declared = settingsByKey.get(key);
    if (declared === undefined) {
      // Users confuse variables and keys.
      const hint = suggest(key.toLowerCase().replace(/^croft_/, ""), [...settingsByKey.keys()]);
      problems.push({ key, origin, message: `unknown setting ${quote(key)} in ${origin}${hint}` });
    } else if (declared.outsideFile) {
      problems.push({
        key,
        origin,
        message: `${key} cannot be in the config file; use CROFT_${key.toUpperCase()}`,
      });
    }
  }
  return parsed as Record<string, unknown>;
}

/** The variables that begin with `CROFT_` and that nothing reads, with the nearest known one. */
export function findUnknownVariables(env: SettingsInput["env"]): readonly SettingProblem[] {
  const variables = new Set<string>();
  for (const [name] of listSettings()) {
    variables.add(toVariable(name)).add(`${toVariable(name)}_FILE`);
  }
  return Object.keys(env)
    .filter((variable) => variable.startsWith("CROFT_"))
    .filter((variable) => !variables.has(variable) && !isOtherVariable(variable))
    .map((variable) => ({
      key: variable,
      origin: variable,
      message: `unknown environment variable ${variable}${suggestVariable(variable, variables)}`,
    }));
}

/** Compares without the prefix that all variables share: with it, any short name would be near. */
function suggestVariable(variable: string, variables: ReadonlySet<string>): string {
  const bare = (name: string) => name.replace(/^CROFT_/, "");
  const hint = suggest(bare(variable), [...variables].map(bare));
  return hint.replace("did you mean ", "did you mean CROFT_");
}

function isOtherVariable(variable: string): boolean {
  return Object.keys(otherVariables).some((other) =>
    other.endsWith("*") ? variable.startsWith(other.slice(0, -1)) : variable === other,
  );
}

function toPrinted(declared: Setting<unknown>, value: unknown): unknown {
  if (value === undefined) {
    return null;
  }
  return declared.secret ? "********" : declared.type.show ? declared.type.show(value) : value;
}

function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
