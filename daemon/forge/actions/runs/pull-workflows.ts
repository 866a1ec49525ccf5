import { hasActions } from "../../repositories/repository-settings.view.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import { findMergeBase, readChangedPaths } from "../../../../storage/git/changed-paths.ts";
import type { CommitWithFiles } from "../../../../storage/git/commits.ts";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { listUnapprovedRuns } from "../../../../storage/tables/forge/actions/runs.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import type { IssueId } from "../../../../storage/tables/forge/ids.ts";
import { findIssueById, type ForgeIssue } from "../../../../storage/tables/forge/issues/issues.ts";
import { findPull } from "../../../../storage/tables/forge/pulls/pulls.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import { isMapping, type Mapping } from "../../../workflows/mapping.ts";
import { looksAtPaths, matchPull, matchesTypes } from "../../../workflows/pull-triggers.ts";
import type { EventFilters } from "../../../workflows/triggers.ts";
import type { ActingUser } from "../../caller.ts";
import type { Compute } from "../../compute.ts";
import type { OwnedRepository } from "../../events.ts";
import type { FindCommit } from "../../git/commit-readers.ts";
import { followMoves } from "../../git/run-in-folder.ts";
import type { RunEngine } from "./advance-run.ts";
import type { ResolveCalls } from "./called-workflows.ts";
import { skipsRuns } from "./pushed-workflows.ts";
import type { RunTrigger, StartRun } from "./start-run.ts";
import { toBoundedPayload } from "./start-workflows.ts";
import {
  readWorkflowFiles,
  toExcessReason,
  type WorkflowFileDeps,
  type WorkflowFiles,
} from "./workflow-files.ts";

const KIND = "forge.actions.pull_event";
/** Maximum number of changed files that are compared with filters; with more, filters of paths count as matched. */
const PATHS_MAX = 20_000;

/** The events of pull requests whose workflows are those of the head. */
const pullEvents = ["pull_request", "pull_request_review", "pull_request_review_comment"] as const;
export type PullEventName = (typeof pullEvents)[number];

const payloadSchema = z.object({
  issueId: z.int().brand<"IssueId">(),
  event: z.enum(pullEvents),
  types: z.array(z.string()),
  actorId: z.int().brand<"UserId">().optional(),
  headCommit: z.string(),
  baseBranch: z.string(),
  isFork: z.boolean(),
  /** The commit of the base that has the head, once it is merged. */
  mergeCommit: z.string().optional(),
  key: z.string(),
  payload: z.custom<Mapping>(isMapping),
});
type PullEvent = z.output<typeof payloadSchema>;

/** Something that happened to a pull request. */
export interface PullNews {
  readonly owned: OwnedRepository;
  readonly issueId: IssueId;
  readonly event: PullEventName;
  /** Every word by which `types` may name it. */
  readonly types: readonly string[];
  readonly actor: ActingUser;
  /** Returns `github.event`; undefined once the pull request is deleted. */
  readonly load: () => Promise<object | undefined>;
}

export interface PullWorkflowsDeps extends WorkflowFileDeps {
  readonly db: Database;
  readonly compute: Pick<Compute, "run">;
  readonly findCommit: FindCommit;
  readonly starter: StartRun;
  readonly resolveCalls: ResolveCalls;
  readonly engine: Pick<RunEngine, "cancel">;
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
  /** Brings the head of a pull request into the repository of the base. */
  readonly serveHead: (issueId: IssueId) => Promise<void>;
}

/** The files of one commit that an event may start, and the names that it has for them. */
interface Source {
  readonly event: string;
  readonly ref: string;
  readonly commit: CommitWithFiles;
  /** Whether the files are those of a fork. */
  readonly isFork: boolean;
}

/**
 * Starts the workflows of pull requests, by a job, because their files are read by git. Those of `pull_request` and of reviews are
 * the files of the head, or of the base after the merge; those of `pull_request_target` are the files of the base.
 */
export type PullWorkflows = ReturnType<typeof createPullWorkflows>;

export function createPullWorkflows(deps: PullWorkflowsDeps) {
  const { db, compute, parser, findCommit, starter, resolveCalls, engine, enqueue } = deps;
  return {
    /** Enqueues the start of the workflows. What the job of a workflow changes starts none. */
    async start(tx: Transaction, news: PullNews): Promise<void> {
      const { owned, issueId, event, types, actor, load } = news;
      if (actor.task !== undefined || !hasActions(owned.repository)) return;
      const pull = await findPull(tx, issueId);
      const payload = pull && (await load());
      if (pull === undefined || payload === undefined) return;
      const job: z.input<typeof payloadSchema> = {
        issueId,
        event,
        types: [...types],
        actorId: actor.id,
        headCommit: pull.headCommit,
        baseBranch: pull.baseBranch,
        // Anyone who may read can push a pull request without a branch, as from a fork.
        isFork: pull.headRepositoryId !== pull.repositoryId || pull.agitTopic !== undefined,
        ...(pull.mergeCommit === undefined ? {} : { mergeCommit: pull.mergeCommit }),
        key: deps.newUuid(),
        payload: toBoundedPayload(payload),
      };
      await enqueue(tx, { kind: KIND, payload: job, account: String(owned.owner.id) });
    },

    /** Cancels the runs of a closed pull request that wait for approval. */
    async cancelUnapproved(
      tx: Transaction,
      { repository }: OwnedRepository,
      { number }: ForgeIssue,
    ): Promise<void> {
      for (const run of await listUnapprovedRuns(tx, repository.id, toPullRef(number)))
        await engine.cancel(tx, run);
    },

    job: {
      kind: KIND,
      run: async (payload) => startAll(parsePayload(payloadSchema, payload)),
    } satisfies JobKind as JobKind,
  };

  async function startAll(subject: PullEvent): Promise<void> {
    const issue = await findIssueById(db, subject.issueId);
    const repository = issue && (await findRepositoryById(db, issue.repositoryId));
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (issue === undefined || repository === undefined || owner === undefined) return;
    if (!hasActions(repository)) return;
    const owned = { repository, owner };
    const { actorId } = subject;
    const actor = actorId === undefined ? undefined : await findUserById(db, actorId);
    const head = await findHead(owned, subject);
    if (head === undefined) return;
    const base = await findNamed(owned, `refs/heads/${subject.baseBranch}`);
    const paths = createPaths(owned, subject, { head, base });
    for (const source of await listSources(owned, subject, issue, { head, base }))
      await startSource({ owned, issue, actor, subject, paths }, source);
  }

  /** Returns the head of the event; undefined when a forced push has replaced it before git could keep it. */
  async function findHead(
    { repository }: OwnedRepository,
    { headCommit, issueId }: PullEvent,
  ): Promise<CommitWithFiles | undefined> {
    const find = async () => {
      const found = await findCommit(repository, headCommit);
      // A branch may have the name of a commit.
      return found?.id === headCommit ? found : undefined;
    };
    const found = await find();
    if (found !== undefined) return found;
    await deps.serveHead(issueId);
    return find();
  }

  function findNamed({ repository }: OwnedRepository, name: string) {
    return findCommit(repository, name);
  }

  async function listSources(
    owned: OwnedRepository,
    { event, isFork, baseBranch, mergeCommit }: PullEvent,
    issue: ForgeIssue,
    { head, base }: PullCommits,
  ): Promise<readonly Source[]> {
    const onBase = `refs/heads/${baseBranch}`;
    const merged = mergeCommit === undefined ? undefined : await findNamed(owned, mergeCommit);
    const sources: Source[] = [];
    if (event !== "pull_request" || !skipsRuns(head.message, issue.title))
      sources.push({
        event,
        ref: merged === undefined ? toPullRef(issue.number) : onBase,
        commit: merged ?? head,
        isFork,
      });
    if (event === "pull_request" && base !== undefined)
      sources.push({ event: "pull_request_target", ref: onBase, commit: base, isFork: false });
    return sources;
  }

  /** Starts the workflows of one commit that name the event. */
  async function startSource(context: EventContext, source: Source): Promise<void> {
    const { owned, subject } = context;
    const found = await readWorkflowFiles(deps, owned.repository, source.commit.id);
    const disabled = await listDisabledWorkflows(db, owned.repository.id);
    let isNamed = false;
    for (const { name, text } of found.files) {
      if (disabled.has(name)) continue;
      const trigger = toTrigger(context, source, found, name);
      const workflow = await parser.parse({ file: name, text, ownerId: owned.owner.id });
      if (typeof workflow === "string") {
        // The push of a branch of this repository has shown it.
        if (source.isFork && source.event === "pull_request" && isUsual(subject))
          await db.transaction((tx) => starter.fail(tx, trigger, workflow));
        continue;
      }
      const filters = workflow.triggers[source.event];
      if (filters === undefined || !matchesTypes(source.event, filters.types, subject.types))
        continue;
      isNamed = true;
      const matched = await match(context, source, filters);
      if (matched === false) continue;
      const { commit } = source;
      const run = { owned, commit: commit.id, folder: found.folder, file: name };
      const resolved =
        typeof matched === "string"
          ? `${name}: matching the filters of on.${source.event} takes ${matched}`
          : await resolveCalls({ ...run, actor: context.actor }, workflow);
      await db.transaction((tx) =>
        typeof resolved === "string"
          ? starter.fail(tx, trigger, resolved)
          : starter.start(tx, trigger, resolved),
      );
    }
    const { beyond, folder } = found;
    if (!isNamed || beyond === undefined || disabled.has(beyond)) return;
    const trigger = toTrigger(context, source, found, beyond);
    await db.transaction((tx) => starter.fail(tx, trigger, toExcessReason(folder, beyond)));
  }

  /** Returns whether filters accept the event, or why that could not be found out. */
  async function match(
    { owned, subject, paths }: EventContext,
    { event }: Source,
    filters: EventFilters,
  ): Promise<boolean | string> {
    const { types, baseBranch } = subject;
    const activity = {
      types,
      baseBranch,
      paths: looksAtPaths(filters) ? await paths() : undefined,
    };
    const account = String(owned.owner.id);
    const matched = await compute.run(matchPull, { event, filters, activity }, account);
    return matched.kind === "done" ? matched.value : matched.reason;
  }

  /** Returns a function that reads the paths which a pull request changes, once. */
  function createPaths(
    { repository }: OwnedRepository,
    { issueId, mergeCommit }: PullEvent,
    { head, base }: PullCommits,
  ): () => Promise<readonly string[] | undefined> {
    let reading: Promise<readonly string[] | undefined> | undefined;
    return () => (reading ??= followMoves(db, repository, read));

    async function read(current: ForgeRepository): Promise<readonly string[] | undefined> {
      const directory = await deps.locate(current);
      // After the merge the base has the head, and the row keeps where they were apart.
      const known = mergeCommit === undefined ? "" : (await findPull(db, issueId))?.mergeBase;
      const ends = base && { before: base.id, after: head.id };
      const before = known || (ends && (await findMergeBase(deps.git, ends, { directory })));
      if (before === undefined) return undefined;
      const pair = { before, after: head.id };
      return readChangedPaths(deps.git, pair, { directory, pathsMax: PATHS_MAX });
    }
  }
}

/** The commits of a pull request. */
interface PullCommits {
  readonly head: CommitWithFiles;
  /** Undefined once the branch is deleted. */
  readonly base: CommitWithFiles | undefined;
}

/** An event with the rows that it is about. */
interface EventContext {
  readonly owned: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly actor: ForgeUser | undefined;
  readonly subject: PullEvent;
  readonly paths: () => Promise<readonly string[] | undefined>;
}

const toPullRef = (number: number) => `refs/pull/${number}/head`;

const isUsual = ({ event, types }: PullEvent) => matchesTypes(event, undefined, types);

function toTrigger(
  { owned, issue, actor, subject }: EventContext,
  { event, ref, commit, isFork }: Source,
  { folder }: WorkflowFiles,
  file: string,
): RunTrigger {
  return {
    owned,
    actor,
    event,
    payload: subject.payload,
    ref,
    headSha: commit.id,
    title: issue.title,
    file,
    folder,
    key: createHash("sha256")
      .update(JSON.stringify([event, subject.key, file]))
      .digest("hex"),
    ...(isFork ? { fork: { authorId: issue.authorId } } : {}),
  };
}
