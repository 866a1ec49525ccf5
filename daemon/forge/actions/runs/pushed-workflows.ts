import { hasActions } from "../../repositories/repository-settings.view.ts";
import { matchPush } from "../../../workflows/triggers.ts";
import { createHash } from "node:crypto";
import type { Database } from "../../../../storage/engine/database.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { forEachAlone } from "../../../jobs/cron-task.ts";
import { readPushedPaths } from "../../git/commit-readers.ts";
import { followMoves } from "../../git/run-in-folder.ts";
import { toPushDetails } from "../../hooks/payloads.view.ts";
import { toPushedCommits } from "../../hooks/pushed-commits.ts";
import type { Compute } from "../../compute.ts";
import { isBranchOrTag } from "../../git/push-notice.ts";
import type { ActingUser } from "../../caller.ts";
import type { RefChange } from "../../events.ts";
import type { ForgeUrls } from "../../urls.ts";
import { type Mapping, toJsonMapping } from "../../../workflows/mapping.ts";
import type { ResolveCalls } from "./called-workflows.ts";
import type { EventWorkflows } from "./event-workflows.ts";
import {
  readWorkflowFiles,
  toExcessReason,
  type WorkflowFileDeps,
  type WorkflowFiles,
} from "./workflow-files.ts";
import type { WorkflowSchedules } from "./schedules.ts";
import type { RunTrigger, StartRun } from "./start-run.ts";
import type { TriggerRefresh } from "./trigger-refresh.ts";
import type { PublishedPush, PushCommits, PushSubscriber } from "../../push-subscriber.ts";

/** Returns whether one of these texts, such as the message of the head commit, asks for no runs. */
export const skipsRuns = (...texts: readonly string[]): boolean =>
  texts.some((text) => SKIP.test(text));

/** Maximum number of refs of one push that start runs; more are ignored (docs/workflows.md). */
const REFS_MAX = 200;
/** Maximum number of commits of a new history whose paths are compared; with more, filters of paths count as matched. */
const COMMITS_MAX = 300;
/** Maximum number of commits in the event; `total_commits` counts all. */
const COMMITS_SHOWN = 20;
const NO_COMMIT = "0".repeat(40);
const SKIP = /\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]/i;

export interface PushedWorkflowsDeps extends WorkflowFileDeps {
  readonly db: Database;
  readonly compute: Pick<Compute, "run">;
  readonly starter: StartRun;
  readonly urls: ForgeUrls;
  readonly schedules: Pick<WorkflowSchedules, "replace">;
  readonly triggers: Pick<TriggerRefresh, "refreshUnless">;
  readonly resolveCalls: ResolveCalls;
  readonly events: Pick<EventWorkflows, "start">;
}

/**
 * Starts the workflows of a push. Every run has a key of its push, file and
 * event, so a job that is repeated after a crash creates no second run.
 */
export function createPushedWorkflows(deps: PushedWorkflowsDeps): PushSubscriber {
  const { db, compute, parser, starter, urls, schedules, resolveCalls, events, triggers } = deps;
  return {
    kind: "forge.actions.push",
    effect: { text: "Workflows run for", refsMax: REFS_MAX },
    commitsMax: COMMITS_MAX,
    select(_tx, { repository, pusher, changes }) {
      // A push by a job starts no run, because runs could trigger each other endlessly.
      const user: ActingUser = pusher;
      if (user.task !== undefined || !hasActions(repository)) return [];
      return changes.filter(({ ref }) => isBranchOrTag(ref)).slice(0, REFS_MAX);
    },
    publish,
  };

  async function publish(
    push: PublishedPush,
    change: RefChange,
    pushed: PushCommits | undefined,
  ): Promise<void> {
    const repository = await findRepositoryById(db, push.repositoryId);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined || !hasActions(repository)) return;
    const actor = await findUserById(db, push.pusherId);
    if (change.after === undefined) {
      const payload = { ...toRefName(change.ref), pusher_type: "user" };
      const key = toKey(push, change, "delete", "");
      await events.start({ repositoryId: repository.id, event: "delete", actor, payload, key });
      return;
    }
    if (pushed?.head === undefined) return;
    const found = await readWorkflowFiles(deps, repository, pushed.head.id);
    const isDefault = change.ref === `refs/heads/${repository.defaultBranch}`;
    if (isDefault) await schedules.replace(repository, found.files);
    const subject = { owned: { repository, owner }, actor, pushed, ...found };
    await startRuns(push, change, subject);
    // A repeated job of an older push must not overwrite newer schedules and events.
    if (isDefault) await triggers.refreshUnless(repository.id, pushed.head.id);
  }

  async function startRuns(
    push: PublishedPush,
    change: RefChange,
    {
      owned,
      actor,
      pushed,
      folder,
      files,
      beyond,
    }: WorkflowFiles & Pick<RunTrigger, "owned" | "actor"> & { readonly pushed: PushCommits },
  ): Promise<void> {
    const { head } = pushed;
    const { repository } = owned;
    if (head === undefined) return;
    if (files.length === 0 || skipsRuns(head.message)) return;
    const disabled = await listDisabledWorkflows(db, repository.id);
    const shown = { ...pushed, commits: pushed.commits.slice(0, COMMITS_SHOWN) };
    const details = toPushDetails(owned, change, await toPushedCommits(db, shown, actor), urls);
    const payloads: Readonly<Record<string, Mapping>> = {
      // Serialized as the runner will get it: JSON omits some members of the views.
      push: toJsonMapping(details),
      ...(change.before === undefined ? { create: toCreatePayload(change) } : {}),
    };
    const isBranch = change.ref.startsWith("refs/heads/");
    const paths = isBranch
      ? await followMoves(deps.db, repository, (current) =>
          readPushedPaths(deps, current, { change, pushed }),
        )
      : [];
    const toTrigger = (event: string, payload: Mapping, file: string): RunTrigger => ({
      owned,
      actor,
      event,
      payload,
      ref: change.ref,
      headSha: head.id,
      title: head.message.split("\n", 1).join() || file,
      file,
      folder,
      key: toKey(push, change, event, file),
    });
    const enabled = files.filter(({ name }) => !disabled.has(name));
    await forEachAlone(enabled, async ({ name: file, text }) => {
      for (const [event, payload] of Object.entries(payloads))
        await startFile(toTrigger(event, payload, file), text, paths);
    });
    if (beyond === undefined || disabled.has(beyond)) return;
    const trigger = toTrigger("push", toJsonMapping(details), beyond);
    await db.transaction((tx) => starter.fail(tx, trigger, toExcessReason(folder, beyond)));
  }

  async function startFile(
    trigger: RunTrigger,
    text: string | undefined,
    paths: readonly string[] | undefined,
  ): Promise<void> {
    const { owned, headSha: commit, folder, file, actor } = trigger;
    const workflow = await parser.parse({ file, text, ownerId: owned.owner.id });
    if (typeof workflow === "string") {
      // An invalid file has no events: it is shown once, as a failed run of the push.
      if (trigger.event === "push")
        await db.transaction((tx) => starter.fail(tx, trigger, workflow));
      return;
    }
    const filters = workflow.triggers[trigger.event];
    if (filters === undefined) return;
    if (trigger.event === "push") {
      const pushed = { ref: trigger.ref, paths };
      const matched = await compute.run(matchPush, { filters, pushed }, String(owned.owner.id));
      if (matched.kind === "exceeded") {
        const reason = `${file}: matching the filters of on.push takes ${matched.reason}`;
        await db.transaction((tx) => starter.fail(tx, trigger, reason));
        return;
      }
      if (!matched.value) return;
    }
    const resolved = await resolveCalls({ owned, commit, folder, file, actor }, workflow);
    await db.transaction((tx) =>
      typeof resolved === "string"
        ? starter.fail(tx, trigger, resolved)
        : starter.start(tx, trigger, resolved),
    );
  }
}

function toCreatePayload({ ref, after }: RefChange): Mapping {
  return { ...toRefName(ref), sha: after ?? NO_COMMIT };
}

function toRefName(full: string): Mapping {
  const [, kind = "", name = ""] = /^refs\/(heads|tags)\/(.*)$/s.exec(full) ?? [];
  return { ref: name, ref_type: kind === "tags" ? "tag" : "branch" };
}

function toKey(push: PublishedPush, change: RefChange, event: string, file: string): string {
  const parts = [push.pushedAt, change.ref, change.before, change.after, event, file];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
