import { createHash } from "node:crypto";
import type { Database } from "../../../../storage/engine/database.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import type { PushCommits, ReadPush } from "../../git/commit-readers.ts";
import { createPushJob, type PublishedPush } from "../../git/push-jobs.ts";
import type { RefChange } from "../../repositories/events.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import type { Mapping } from "../workflows/mapping.ts";
import { matchesPush } from "../workflows/triggers.ts";
import type { ResolveCalls } from "./called-workflows.ts";
import { hasActions, readWorkflowFiles, type WorkflowFileDeps } from "./workflow-files.ts";
import type { WorkflowSchedules } from "./schedules.ts";
import type { RunTrigger, StartRun } from "./start-run.ts";

/** Refs of one push that make runs. */
const REFS_MAX = 40;
/** Maximum number of commits whose paths are compared; with more, filters of paths count as matched. */
const COMMITS_MAX = 300;
const NO_COMMIT = "0".repeat(40);
const SKIP = /\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]/i;

export interface PushedWorkflowsDeps extends WorkflowFileDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly readPush: ReadPush;
  readonly starter: StartRun;
  readonly urls: ForgeUrls;
  readonly schedules: Pick<WorkflowSchedules, "replace">;
  readonly resolveCalls: ResolveCalls;
}

/**
 * Starts the workflows of a push, in a job of the push's own transaction. Every run has a key of its push, file and
 * event, so a job that is repeated after a crash makes no second run.
 */
export function createPushedWorkflows(deps: PushedWorkflowsDeps) {
  const { db, enqueue, parser, readPush, starter, urls, schedules, resolveCalls } = deps;
  return createPushJob({
    kind: "forge.actions.push",
    enqueue,
    select: ({ ref, after }) => /^refs\/(?:heads|tags)\//.test(ref) && after !== undefined,
    refsMax: REFS_MAX,
    publish,
  });

  async function publish(push: PublishedPush, change: RefChange): Promise<void> {
    const repository = await findRepositoryById(db, push.repositoryId);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined || !hasActions(repository)) return;
    const pushed = await readPush(repository, change, COMMITS_MAX);
    if (pushed?.head === undefined) return;
    const { head } = pushed;
    const { folder, files } = await readWorkflowFiles(deps, repository, head.id);
    if (change.ref === `refs/heads/${repository.defaultBranch}`)
      await schedules.replace(repository, files);
    if (files.length === 0 || SKIP.test(head.message)) return;
    const disabled = await listDisabledWorkflows(db, repository.id);
    const actor = await findUserById(db, push.pusherId);
    const address = toUrl(urls, `/${owner.name}/${repository.name}`);
    const names = change.before === undefined ? ["push", "create"] : ["push"];
    for (const { name: file, text } of files.filter(({ name }) => !disabled.has(name)))
      for (const event of names) {
        const payload =
          event === "push" ? toPushPayload(change, pushed, address) : toCreatePayload(change);
        const trigger: RunTrigger = {
          what: { repository, owner },
          actor,
          event,
          payload: { ...payload, sender: { login: actor?.name ?? "Ghost" } },
          ref: change.ref,
          headSha: head.id,
          title: head.message.split("\n", 1).join() || file,
          file,
          folder,
          key: toKey(push, change, event, file),
        };
        await startFile(trigger, text, toPaths(pushed));
      }
  }

  async function startFile(
    trigger: RunTrigger,
    text: string | undefined,
    paths: readonly string[] | undefined,
  ): Promise<void> {
    const { what, headSha: commit, folder, file, actor } = trigger;
    const workflow = await parser.parse({ file, text, ownerId: what.owner.id });
    if (typeof workflow === "string") {
      // An invalid file has no events: it is shown once, as a failed run of the push.
      if (trigger.event === "push")
        await db.transaction((tx) => starter.fail(tx, trigger, workflow));
      return;
    }
    const filters = workflow.triggers[trigger.event];
    if (filters === undefined) return;
    if (trigger.event === "push" && !matchesPush(filters, { ref: trigger.ref, paths })) return;
    const resolved = await resolveCalls({ what, commit, folder, file, actor }, workflow);
    await db.transaction((tx) =>
      typeof resolved === "string"
        ? starter.fail(tx, trigger, resolved)
        : starter.start(tx, trigger, resolved),
    );
  }
}

function toPaths({ commits, total }: PushCommits): readonly string[] | undefined {
  if (total > commits.length || commits.some(({ lacksFiles }) => lacksFiles)) return undefined;
  return commits.flatMap(({ added, removed, modified }) => [...added, ...removed, ...modified]);
}

function toPushPayload(
  change: RefChange,
  { head, commits }: PushCommits,
  address: string,
): Mapping {
  const toCommit = ({ id, message, author }: (typeof commits)[number]) => ({
    id,
    message,
    url: `${address}/commit/${id}`,
    author: { name: author.name, email: author.email },
    timestamp: author.at,
  });
  return {
    ref: change.ref,
    before: change.before ?? NO_COMMIT,
    after: change.after ?? NO_COMMIT,
    compare_url: `${address}/compare/${change.before ?? NO_COMMIT}...${change.after ?? NO_COMMIT}`,
    head_commit: head === undefined ? null : toCommit(head),
    commits: commits.slice(0, 20).map(toCommit),
  };
}

function toCreatePayload({ ref, after }: RefChange): Mapping {
  const [, kind = "", name = ""] = /^refs\/(heads|tags)\/(.*)$/s.exec(ref) ?? [];
  return { ref: name, ref_type: kind === "tags" ? "tag" : "branch", sha: after ?? NO_COMMIT };
}

function toKey(push: PublishedPush, change: RefChange, event: string, file: string): string {
  const parts = [push.pushedAt, change.ref, change.before, change.after, event, file];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
