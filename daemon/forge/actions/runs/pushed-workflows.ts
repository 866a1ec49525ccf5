import { createHash } from "node:crypto";
import type { Database } from "../../../../storage/engine/database.ts";
import { type FolderFile, readFolderFiles } from "../../../../storage/git/folder-files.ts";
import type { Git } from "../../../../storage/git/git.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import type { PushCommits, ReadPush } from "../../git/commit-readers.ts";
import { createPushJob, type PublishedPush } from "../../git/push-jobs.ts";
import type { RefChange } from "../../repositories/events.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import type { Mapping } from "../workflows/mapping.ts";
import { matchesPush } from "../workflows/triggers.ts";
import { parseWorkflow, type Workflow } from "../workflows/workflow.ts";
import { WORKFLOW_BYTES_MAX, WorkflowError } from "../workflows/yaml-source.ts";
import type { RunTrigger, StartRun } from "./start-run.ts";

/** Refs of one push, and files of one commit, that make runs. */
const REFS_MAX = 40;
const FILES_MAX = 50;
/** Commits whose paths are looked at; with more, the filters of paths count as matched. */
const COMMITS_MAX = 300;
const NO_COMMIT = "0".repeat(40);
const SKIP = /\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]/i;
/** Folders of workflow files; the first that has any hides the other. */
const FOLDERS = [".gitea/workflows", ".github/workflows"] as const;

export interface WorkflowFileDeps {
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
}

export interface PushedWorkflowsDeps extends WorkflowFileDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly readPush: ReadPush;
  readonly starter: StartRun;
  readonly urls: ForgeUrls;
}

/** Returns the workflow files of a commit. @throws GitError */
export async function readWorkflowFiles(
  { git, locate }: WorkflowFileDeps,
  repository: ForgeRepository,
  commit: string,
): Promise<readonly FolderFile[]> {
  const directory = await locate(repository);
  for (const folder of FOLDERS) {
    const limits = { filesMax: FILES_MAX, bytesMax: WORKFLOW_BYTES_MAX };
    const files = await readFolderFiles(git, directory, {
      commit,
      folder,
      name: /^[^/]+\.ya?ml$/i,
      ...limits,
    });
    if (files.length > 0) return files;
  }
  return [];
}

/** Returns whether a repository runs workflows. */
export function hasActions({ settings, archivedAt }: ForgeRepository): boolean {
  return settings["has_actions"] !== false && archivedAt === undefined;
}

/**
 * Starts the workflows of a push, in a job of the push's own transaction. Every run has a key of its push, file and
 * event, so a job that is repeated after a crash makes no second run.
 */
export function createPushedWorkflows(deps: PushedWorkflowsDeps) {
  const { db, enqueue, readPush, starter, urls } = deps;
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
    if (pushed?.head === undefined || SKIP.test(pushed.head.message)) return;
    const { head } = pushed;
    const files = await readWorkflowFiles(deps, repository, head.id);
    if (files.length === 0) return;
    const actor = await findUserById(db, push.pusherId);
    const address = toUrl(urls, `/${owner.name}/${repository.name}`);
    const names = change.before === undefined ? ["push", "create"] : ["push"];
    for (const { name: file, text } of files)
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
    const workflow = readWorkflow(trigger.file, text);
    if (typeof workflow === "string") {
      // An invalid file has no events: it is shown once, as a failed run of the push.
      if (trigger.event === "push")
        await db.transaction((tx) => starter.fail(tx, trigger, workflow));
      return;
    }
    const filters = workflow.triggers[trigger.event];
    if (filters === undefined) return;
    if (trigger.event === "push" && !matchesPush(filters, { ref: trigger.ref, paths })) return;
    await db.transaction((tx) => starter.start(tx, trigger, workflow));
  }
}

/** Parses a file; returns the reason with file and line when it is invalid. */
export function readWorkflow(file: string, text: string | undefined): Workflow | string {
  if (text === undefined) return `${file}:1: a workflow has at most ${WORKFLOW_BYTES_MAX} bytes`;
  try {
    return parseWorkflow(text);
  } catch (error) {
    if (error instanceof WorkflowError) return `${file}:${error.line}: ${error.message}`;
    throw error;
  }
}

function toPaths({ commits, total }: PushCommits): readonly string[] | undefined {
  if (total > commits.length) return undefined;
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
