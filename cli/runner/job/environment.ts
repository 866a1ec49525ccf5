import type { Mapping } from "../../../daemon/workflows/mapping.ts";
import type { CommandFiles } from "./command-files.ts";
import type { Contexts } from "./evaluation.ts";
import type { JobSession } from "./session.ts";

/** Members of the `github` context that steps see as `GITHUB_…`. */
const NAMES = [
  "action",
  "action_path",
  "action_ref",
  "action_repository",
  "actor",
  "api_url",
  "base_ref",
  "event_name",
  "event_path",
  "graphql_url",
  "head_ref",
  "job",
  "ref",
  "ref_name",
  "ref_protected",
  "ref_type",
  "repository",
  "repository_owner",
  "retention_days",
  "run_attempt",
  "run_id",
  "run_number",
  "server_url",
  "sha",
  "triggering_actor",
  "workflow",
  "workspace",
];

/** Returns the variables that the runner sets for every step. A workflow cannot replace them. */
export function toRunnerVariables(
  { place }: Pick<JobSession, "place">,
  contexts: Contexts,
  files: CommandFiles,
): Record<string, string> {
  const github = contexts["github"] as Mapping;
  const runner = contexts["runner"] as Mapping;
  const own = NAMES.map((name) => [`GITHUB_${name.toUpperCase()}`, String(github[name] ?? "")]);
  const described = Object.entries(runner).map(([name, value]) => [
    `RUNNER_${name.toUpperCase()}`,
    String(value ?? ""),
  ]);
  return {
    ...(Object.fromEntries([...own, ...described]) as Record<string, string>),
    GITHUB_ACTIONS: "true",
    GITEA_ACTIONS: "true",
    GITHUB_OUTPUT: place.toStepPath(files.output),
    GITHUB_ENV: place.toStepPath(files.env),
    GITHUB_PATH: place.toStepPath(files.path),
    GITHUB_STATE: place.toStepPath(files.state),
    GITHUB_STEP_SUMMARY: place.toStepPath(files.summary),
  };
}

/** Returns the variables with which the toolkit of JavaScript actions reaches the forge's artifact service. */
export function toToolkitVariables(contexts: Contexts): Record<string, string> {
  const github = contexts["github"] as Mapping;
  const token = String(github["gitea_runtime_token"] ?? "") || String(github["token"] ?? "");
  if (token === "") return {};
  const server = String(github["server_url"] ?? "").replace(/\/*$/, "/");
  return {
    ACTIONS_RUNTIME_TOKEN: token,
    ACTIONS_RUNTIME_URL: `${server}api/actions_pipeline/`,
    ACTIONS_RESULTS_URL: server,
  };
}
