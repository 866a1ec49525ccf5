import { join } from "node:path";
import type { WireTask } from "../../../daemon/workflows/runner-messages.ts";
import { Result } from "../../../daemon/workflows/runner-messages.ts";
import { toTypedInput } from "../../../daemon/workflows/dispatch-inputs.ts";
import { isMapping, type Mapping } from "../../../daemon/workflows/mapping.ts";
import { createJobFile } from "../files/job-files.ts";
import type { JobFolders, Place } from "../places/place.ts";
import type { Contexts } from "./evaluation.ts";
import { type JobPayload, toMapping } from "./payload.ts";

/** The members of the `github` context that the daemon sends. */
export function toGithub(task: WireTask): Mapping {
  const context: unknown = task.context ?? {};
  return isMapping(context) ? context : {};
}

/** Returns every text of a task that must not be seen in its log. */
export function toSecrets(task: WireTask): readonly string[] {
  const github = toGithub(task);
  return [
    ...Object.values(task.secrets),
    ...[github["token"], github["gitea_runtime_token"]].map((each) => String(each ?? "")),
  ].filter((each) => each !== "");
}

export interface ContextDeps {
  readonly place: Place;
  readonly folders: JobFolders;
  readonly runnerName: string;
  readonly platform: NodeJS.Platform;
  readonly architecture: string;
}

/** Returns the contexts of a job that do not change, and writes the file of the event. */
export async function createContexts(
  task: WireTask,
  payload: JobPayload,
  { place, folders, runnerName, platform, architecture }: ContextDeps,
): Promise<Contexts> {
  const sent = toGithub(task);
  const event = toMapping(sent["event"]);
  const eventFile = join(folders.scripts, "event.json");
  await createJobFile(eventFile, JSON.stringify(event));
  const token = String(sent["token"] ?? "") || (task.secrets["GITHUB_TOKEN"] ?? "");
  const github = {
    ...sent,
    // Actions put a path after it, which begins with a slash.
    server_url: String(sent["server_url"] ?? "").replace(/\/+$/, ""),
    token,
    job: payload.key,
    workflow: sent["workflow"] || payload.workflowName,
    workspace: place.workspace,
    event_path: place.toStepPath(eventFile),
  };
  return {
    github,
    gitea: github,
    secrets: { ...task.secrets },
    vars: { ...task.vars },
    needs: Object.fromEntries(
      Object.entries(task.needs).map(([key, { outputs, result }]) => [
        key,
        { outputs: { ...outputs }, result: toWord(result) },
      ]),
    ),
    matrix: payload.matrix,
    strategy: toMapping(sent["strategy"]),
    runner: {
      name: runnerName,
      os: OPERATING_SYSTEMS[platform] ?? platform,
      arch: ARCHITECTURES[architecture] ?? architecture.toUpperCase(),
      temp: place.temp,
      tool_cache: `${place.temp}/tools`,
      workspace: place.workspace,
      environment: "self-hosted",
    },
  };
}

/** Returns the `inputs` context: of the event that started the run by hand, with the declared types. */
export function toInputs(task: WireTask, { inputTypes }: Pick<JobPayload, "inputTypes">): Mapping {
  const inputs = toMapping(toMapping(toGithub(task)["event"])["inputs"]);
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name, toTypedInput(inputTypes[name], value)]),
  );
}

function toWord(result: number): string {
  const [word] = Object.entries(Result).find(([, number]) => number === result) ?? [""];
  return word === "unspecified" ? "" : word;
}

const OPERATING_SYSTEMS: Partial<Record<NodeJS.Platform, string>> = {
  linux: "Linux",
  darwin: "macOS",
  win32: "Windows",
};

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: "X64",
  arm64: "ARM64",
  arm: "ARM",
  ia32: "X86",
};
