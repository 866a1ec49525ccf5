import { hasActions } from "../../repositories/repository-settings.view.ts";
import { matchActivity } from "../../../workflows/triggers.ts";
import { createHash } from "node:crypto";
import type { Database } from "../../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { hasWorkflowEvent } from "../../../../storage/tables/forge/actions/events.ts";
import { findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import { type RepositoryId, toUserId, toRunId } from "../../../../storage/tables/forge/ids.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { Compute } from "../../compute.ts";
import type { FindCommit } from "../../git/commit-readers.ts";
import { isMapping, type Mapping } from "../../../workflows/mapping.ts";
import { toActivity } from "../../../workflows/triggers.ts";
import type { ResolveCalls } from "./called-workflows.ts";
import { EVENT_JOB, eventJobSchema } from "./start-workflows.ts";
import type { RunTrigger, StartRun } from "./start-run.ts";
import { readWorkflowFiles, toExcessReason, type WorkflowFileDeps } from "./workflow-files.ts";

/** Maximum number of runs of `workflow_run` that trigger each other. */
const FOLLOWING_MAX = 5;

export interface EventWorkflowsDeps extends WorkflowFileDeps {
  readonly db: Database;
  readonly compute: Pick<Compute, "run">;
  readonly findCommit: FindCommit;
  readonly starter: StartRun;
  readonly resolveCalls: ResolveCalls;
}

/** An event that starts workflows of the default branch, or of a tag. */
export interface BranchEvent {
  readonly repositoryId: RepositoryId;
  /** The name of the event in `on`. */
  readonly event: string;
  readonly actor: ForgeUser | undefined;
  readonly payload: Mapping;
  /** Unique to the event: a repeated call creates no second run. */
  readonly key: string;
  /** The tag that the event is about, such as `refs/tags/v1`; without it, workflows run on the default branch. */
  readonly ref?: string | undefined;
}

/**
 * Starts workflows of the default branch for events without a branch, such as those of issues. Events of releases start the
 * workflows that the commit of the tag has, if the default branch has one for releases.
 */
export type EventWorkflows = ReturnType<typeof createEventWorkflows>;

export function createEventWorkflows(deps: EventWorkflowsDeps) {
  const { db, compute, parser, findCommit, starter, resolveCalls } = deps;
  return {
    start,

    job: {
      kind: EVENT_JOB,
      async run(job) {
        const { actorId, ...subject } = parsePayload(eventJobSchema, job);
        const { event, payload } = subject;
        if (event === "workflow_run" && (await followsTooMany(payload))) return;
        const actor = actorId === undefined ? undefined : await findUserById(db, toUserId(actorId));
        await start({ ...subject, actor });
      },
    } satisfies JobKind as JobKind,
  };

  /** Starts every workflow that names the event. @throws GitError when the repository's files are missing */
  async function start(subject: BranchEvent): Promise<void> {
    const { repositoryId, event, actor, payload, key, ref: tag } = subject;
    if (!(await hasWorkflowEvent(db, repositoryId, event))) return;
    const repository = await findRepositoryById(db, repositoryId);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined || !hasActions(repository)) return;
    const ref = tag ?? `refs/heads/${repository.defaultBranch}`;
    const head = await findCommit(repository, ref);
    if (head === undefined) return;
    const owned = { repository, owner };
    const { folder, files, beyond } = await readWorkflowFiles(deps, repository, head.id);
    const disabled = await listDisabledWorkflows(db, repositoryId);
    const toTrigger = (file: string): RunTrigger => ({
      owned,
      actor,
      event,
      payload,
      ref,
      headSha: head.id,
      title: head.message.split("\n", 1).join() || file,
      file,
      folder,
      key: createHash("sha256")
        .update(JSON.stringify([event, key, file]))
        .digest("hex"),
    });
    for (const { name: file, text } of files.filter(({ name }) => !disabled.has(name))) {
      const workflow = await parser.parse({ file, text, ownerId: owner.id });
      // An invalid file was shown as a failed run of its push.
      if (typeof workflow === "string") continue;
      const filters = workflow.triggers[event];
      if (filters === undefined) continue;
      const activity = toActivity(event, payload);
      const matched = await compute.run(matchActivity, { filters, activity }, String(owner.id));
      if (matched.kind === "done" && !matched.value) continue;
      const source = { owned, commit: head.id, folder, file, actor };
      const resolved =
        matched.kind === "done"
          ? await resolveCalls(source, workflow)
          : `${file}: matching the filters of on.${event} takes ${matched.reason}`;
      await db.transaction((tx) =>
        typeof resolved === "string"
          ? starter.fail(tx, toTrigger(file), resolved)
          : starter.start(tx, toTrigger(file), resolved),
      );
    }
    if (beyond === undefined || disabled.has(beyond)) return;
    const reason = toExcessReason(folder, beyond);
    await db.transaction((tx) => starter.fail(tx, toTrigger(beyond), reason));
  }

  /** Two workflows that start each other would loop forever. */
  async function followsTooMany(payload: Mapping): Promise<boolean> {
    let event: unknown = payload;
    for (let following = 0; following < FOLLOWING_MAX; following += 1) {
      const subject = isMapping(event) ? event["workflow_run"] : undefined;
      if (!isMapping(subject) || subject["event"] !== "workflow_run") return false;
      const run = await findRun(db, toRunId(Number(subject["id"])));
      if (run === undefined) return false;
      event = JSON.parse(run.eventPayload);
    }
    return true;
  }
}
