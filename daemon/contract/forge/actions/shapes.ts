import { z } from "zod";
import { wireId, wireTime } from "../common.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryShape } from "../repositories/repositories.ts";

/** A runner. */
export const runnerShape = z.object({
  id: wireId,
  name: z.string(),
  status: z.enum(["online", "offline"]),
  busy: z.boolean(),
  disabled: z.boolean(),
  ephemeral: z.boolean(),
  labels: z.array(z.object({ id: wireId, name: z.string(), type: z.string() })),
});
export type WireRunner = z.output<typeof runnerShape>;

/** The statuses by which jobs and runs are filtered. */
export const workflowStatusWords = [
  "requested",
  "pending",
  "waiting",
  "action_required",
  "queued",
  "in_progress",
  "completed",
  "failure",
  "success",
  "skipped",
  "neutral",
  "cancelled",
  "timed_out",
] as const;

/** Filter by status; may be repeated. */
export const statusFilter = z
  .preprocess(
    (value: string | readonly string[] | undefined) =>
      value === undefined ? [] : typeof value === "string" ? [value] : value,
    z.array(z.string()),
  )
  .meta({ items: { enum: [...workflowStatusWords] } });

const status = z.enum(["queued", "waiting", "in_progress", "completed"]);
const conclusion = z.enum(["success", "failure", "cancelled", "skipped"]).optional();

/** A job. */
export const jobShape = z.object({
  id: wireId,
  url: z.string(),
  html_url: z.string(),
  run_id: wireId,
  run_url: z.string(),
  name: z.string(),
  labels: z.array(z.string()),
  run_attempt: z.int(),
  head_sha: z.string(),
  head_branch: z.string().optional(),
  status,
  conclusion,
  runner_id: wireId,
  runner_name: z.string().optional(),
  steps: z.array(
    z.object({
      name: z.string(),
      number: z.int(),
      status,
      conclusion,
      started_at: wireTime,
      completed_at: wireTime,
      /** The first row of the step in the log of the job, and how many rows it has. */
      log_index: z.int(),
      log_length: z.int(),
    }),
  ),
  created_at: wireTime,
  started_at: wireTime,
  completed_at: wireTime,
});
export type WireJob = z.output<typeof jobShape>;

/** A job that a runner has taken, in one attempt of its run. The list of tasks alone shows it. */
export const taskShape = z.object({
  id: wireId,
  name: z.string(),
  head_branch: z.string(),
  head_sha: z.string(),
  run_number: z.int(),
  event: z.string(),
  display_title: z.string(),
  status: z.string(),
  workflow_id: z.string(),
  url: z.string(),
  created_at: wireTime,
  updated_at: wireTime,
  run_started_at: wireTime,
});
export type WireTask = z.output<typeof taskShape>;

const endOfRunShape = z.object({
  ref: z.string(),
  sha: z.string(),
  /** Null when the repository was deleted, or when not everybody may read it. */
  repo: z.object({ id: wireId, url: z.string(), name: z.string() }).nullable(),
});

/** The pull request whose event started a run. */
const pullOfRunShape = z.object({
  id: wireId,
  number: z.int(),
  url: z.string(),
  head: endOfRunShape,
  base: endOfRunShape,
});

/** A run, and why it failed before it had a job. */
export const runShape = z.object({
  id: wireId,
  url: z.string(),
  previous_attempt_url: z.string().nullable(),
  html_url: z.string(),
  display_title: z.string(),
  path: z.string(),
  event: z.string(),
  run_attempt: z.int(),
  run_number: z.int(),
  repository_id: wireId,
  head_sha: z.string(),
  head_branch: z.string().optional(),
  status,
  conclusion,
  error: z.string().optional(),
  actor: userShape,
  trigger_actor: userShape,
  repository: repositoryShape,
  pull_requests: z.array(pullOfRunShape),
  /** Whether no job runs before a person with write access approves the run. */
  needs_approval: z.boolean().optional(),
  started_at: wireTime,
  completed_at: wireTime,
});
export type WireRun = z.output<typeof runShape>;
