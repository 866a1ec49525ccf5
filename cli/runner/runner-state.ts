import { join } from "node:path";
import type { SettingPaths } from "../../daemon/settings/paths.ts";
import { CliError } from "../errors.ts";
import { writePrivateFile } from "../profile/private-files.ts";
import { readPrivateFile, removeFile } from "../profile/read-private-file.ts";
import { isTexts, parseObject } from "../support/json.ts";

/** A registered runner, as it is kept in a file of mode 0600. */
export interface RunnerState {
  /** Address of the daemon; null for the daemon of this home, wherever it listens. */
  readonly url: string | null;
  readonly id: number;
  readonly uuid: string;
  /** The credential of the runner. */
  readonly token: string;
  readonly name: string;
  /** As they were given, such as `host:host` or `ubuntu-latest:docker://node:22`. */
  readonly labels: readonly string[];
  readonly ephemeral: boolean;
  /** Repositories whose jobs may run: `OWNER/NAME`, `OWNER` or `*`. */
  readonly allow: readonly string[];
}

/** The file of the registered runner. */
export function toStatePath({ configDirectory }: SettingPaths): string {
  return join(configDirectory, "runner.json");
}

/** The folder where jobs run. */
export function toJobsPath({ stateDirectory }: SettingPaths): string {
  return join(stateDirectory, "runner");
}

/** Returns the registered runner, or undefined. @throws CliError `invalid_config` for a damaged file */
export function readRunnerState(paths: SettingPaths): RunnerState | undefined {
  const path = toStatePath(paths);
  const text = readPrivateFile(path);
  if (text === undefined) return undefined;
  const state = parse(text);
  if (state === undefined)
    throw new CliError("invalid_config", `${path} is damaged`, {
      hint: 'remove it and run "croft runner register" again',
    });
  return state;
}

export function writeRunnerState(paths: SettingPaths, state: RunnerState): Promise<void> {
  return writePrivateFile(toStatePath(paths), `${JSON.stringify(state, undefined, 2)}\n`);
}

export function removeRunnerState(paths: SettingPaths): void {
  removeFile(toStatePath(paths));
}

/** Returns the state that a file holds; undefined when a member is missing or has another type. */
function parse(text: string): RunnerState | undefined {
  const { url, id, uuid, token, name, labels, ephemeral, allow } = parseObject(text) ?? {};
  if (typeof uuid !== "string" || typeof token !== "string" || typeof name !== "string")
    return undefined;
  if (typeof id !== "number" || typeof ephemeral !== "boolean") return undefined;
  if (!isTexts(labels) || !isTexts(allow) || (url !== null && typeof url !== "string"))
    return undefined;
  return { url, id, uuid, token, name, labels, ephemeral, allow };
}

/** Whether the runner's owner has given a valid pattern: `OWNER/NAME`, `OWNER`, or `*` for all repositories. */
export function isAllowPattern(text: string): boolean {
  return text === "*" || /^[\w.-]+(\/[\w.-]+)?$/.test(text);
}

/** Returns whether jobs of a repository (OWNER/NAME) may run. Names are compared without regard to case. */
export function isAllowed(patterns: readonly string[], repository: string): boolean {
  const name = repository.toLowerCase();
  const [owner] = name.split("/", 1);
  return patterns.some((pattern) => {
    const allowed = pattern.toLowerCase();
    return allowed === "*" || allowed === name || allowed === owner;
  });
}

/** Where jobs with a label run. */
export type LabelTarget =
  | { readonly kind: "host" }
  | { readonly kind: "container"; readonly image: string };

/** A label of the runner, as `NAME`, `NAME:host` or `NAME:docker://IMAGE`. */
export interface RunnerLabel {
  readonly name: string;
  readonly target: LabelTarget;
}

/** Parses a label; undefined when it is invalid. */
export function parseLabel(text: string): RunnerLabel | undefined {
  const [, name = "", rest] = /^([^:\s]+)(?::(.*))?$/s.exec(text.trim()) ?? [];
  if (name === "") return undefined;
  if (rest === undefined || rest === "host") return { name, target: { kind: "host" } };
  const [, image] = /^docker:\/\/(\S+)$/.exec(rest) ?? [];
  return image === undefined ? undefined : { name, target: { kind: "container", image } };
}

/** Returns where a job with these labels runs, by the first of its labels that the runner has, in any case of letters. */
export function findTarget(
  labels: readonly RunnerLabel[],
  requested: readonly string[],
): LabelTarget | undefined {
  for (const name of requested) {
    const found = labels.find((label) => label.name.toLowerCase() === name.toLowerCase());
    if (found !== undefined) return found.target;
  }
  return undefined;
}
