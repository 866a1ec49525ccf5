import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createSummaries } from "../../../../../daemon/forge/actions/artifacts/summaries.service.ts";
import {
  createWorkflowSchedules,
  type WorkflowSchedules,
} from "../../../../../daemon/forge/actions/runs/schedules.ts";
import { createRunStarter } from "../../../../../daemon/forge/actions/runs/start-run.ts";
import {
  createWorkflowParser,
  type WorkflowParser,
} from "../../../../../daemon/forge/actions/runs/workflow-parser.ts";
import { createWorkflows } from "../../../../../daemon/forge/actions/runs/workflows.service.ts";
import { repository as granted } from "../../../../../daemon/contract/permission.ts";
import type { ForgeCaller } from "../../../../../daemon/forge/caller.ts";
import { grantRepository } from "../../../../../daemon/forge/repositories/open-repository.ts";
import { createCommitFinder } from "../../../../../daemon/forge/git/commit-readers.ts";
import { type Database, StorageError } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import { type ForgeUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertJob } from "../../../../../storage/tables/forge/actions/jobs.ts";
import { insertRunner } from "../../../../../storage/tables/forge/actions/runners.ts";
import { insertRun, listRuns } from "../../../../../storage/tables/forge/actions/runs.ts";
import { findNextSummary } from "../../../../../storage/tables/forge/actions/summaries.ts";
import { insertTask, updateTask } from "../../../../../storage/tables/forge/actions/tasks.ts";
import {
  listDueSchedules,
  replaceSchedules,
  setWorkflowDisabled,
} from "../../../../../storage/tables/forge/actions/workflows.ts";
import {
  deleteCollaborator,
  putCollaborator,
} from "../../../../../storage/tables/forge/repositories/collaborators.ts";
import {
  type ForgeRepository,
  insertRepository,
  updateRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import type { RepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { interruptOnce, openTestDatabase } from "../../../../support/storage/database.ts";

// Each test changes the rows between what a request reads and the transaction that writes, as another request may.

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const FILE = "ci.yml";
const CRON = "5 4 * * *";
const WORKFLOW = `on: { workflow_dispatch: {}, schedule: [{ cron: "${CRON}" }] }
jobs: { a: { runs-on: x, steps: [{ run: "true" }] } }
`;

let parser: WorkflowParser;
beforeAll(() => {
  parser = createWorkflowParser();
});
afterAll(() => parser.close());

let db: Database;
let directory: string;
let mira: ForgeUser;
let nora: ForgeUser;
let repository: ForgeRepository;
let now: number;

const gitIn = (args: readonly string[], input = "") =>
  execFileSync("git", args, { cwd: directory, input, encoding: "utf8" }).trim();

/** Commits a workflow file to the branch. */
function commit(text: string): void {
  const blob = gitIn(["hash-object", "-w", "--stdin"], text);
  const workflows = gitIn(["mktree"], `100644 blob ${blob}\t${FILE}\n`);
  const folder = gitIn(["mktree"], `040000 tree ${workflows}\tworkflows\n`);
  const tree = gitIn(["mktree"], `040000 tree ${folder}\t.gitea\n`);
  const identity = ["-c", "user.name=Mira", "-c", "user.email=mira@example.org"];
  gitIn(["update-ref", "refs/heads/main", gitIn([...identity, "commit-tree", tree, "-m", "one"])]);
}

beforeEach(async () => {
  now = Date.now();
  db = await openTestDatabase({ clock: () => now });
  directory = await mkdtemp(join(tmpdir(), "croft-decisions-"));
  gitIn(["init", "--quiet", "--bare", "--initial-branch=main"]);
  commit(WORKFLOW);
  await db.transaction(async (tx) => {
    mira = await insertUser(tx, newUserRow("mira"));
    nora = await insertUser(tx, newUserRow("nora"));
    repository = await insertRepository(tx, newRepositoryRow(mira, "cabin", { isEmpty: false }));
    await putCollaborator(tx, repository.id, { userId: nora.id, access: 2 });
  });
});
afterEach(async () => {
  await db.close();
  await rm(directory, { recursive: true });
});

/** The parts of a daemon that start runs, over a database. */
function startersOn(database: Database, unreadable?: RepositoryId) {
  const locate = async ({ id }: ForgeRepository) => {
    if (id === unreadable) throw new StorageError("failed", "a value cannot be stored");
    return directory;
  };
  const findCommit = createCommitFinder({ git, locate });
  const engine = { begin: async () => undefined, cancel: async () => undefined };
  const starter = createRunStarter({
    engine: engine as unknown as Parameters<typeof createRunStarter>[0]["engine"],
    urls: { publicUrl: () => "http://forge.example" },
    open: async () => undefined,
  });
  const deps = {
    db: database,
    git,
    locate,
    parser,
    findCommit,
    starter,
    clock: () => now,
    newUuid: () => "00000000-0000-4000-8000-000000000001",
    resolveCalls: async (_source: unknown, workflow: Awaited<ReturnType<typeof parser.parse>>) =>
      workflow,
  };
  return { workflows: createWorkflows(deps), schedules: createWorkflowSchedules(deps) };
}

const countRuns = async () =>
  (await listRuns(db, { repositoryId: repository.id }, { limit: 10, offset: 0 })).total;

/** Starts a run as a collaborator while `change` happens. */
async function dispatchDuring(change: () => Promise<unknown>) {
  const caller: ForgeCaller = { user: nora, actor: nora, method: "token", scope: "all" };
  const grant = { caller, permission: granted("actions", "write"), isChange: false };
  const opened = await grantRepository(db, { repository, owner: mira }, grant);
  const { workflows } = startersOn(interruptOnce(db, change));
  return workflows.dispatch(opened, caller, { id: FILE, ref: "main" });
}

test("a workflow that is disabled while its run is prepared has no run", async () => {
  await dispatchDuring(async () => undefined);
  expect(await countRuns()).toBe(1);
  const disable = () => db.transaction((tx) => setWorkflowDisabled(tx, repository.id, FILE, true));
  await expect(dispatchDuring(disable)).rejects.toMatchObject({ code: "forbidden" });
  expect(await countRuns()).toBe(1);
});

test("a person who loses the right while a run is prepared starts none", async () => {
  const remove = () => db.transaction((tx) => deleteCollaborator(tx, repository.id, nora.id));
  await expect(dispatchDuring(remove)).rejects.toMatchObject({ code: "forbidden" });
  expect(await countRuns()).toBe(0);
});

test("a repository that is archived while a run is prepared has none", async () => {
  const archive = () => updateRepository(db, repository.id, { archivedAt: now });
  await expect(dispatchDuring(archive)).rejects.toMatchObject({ code: "not_found" });
  expect(await countRuns()).toBe(0);
});

/** Makes the schedule due, and starts it while `change` happens. */
async function startDueDuring(change: () => Promise<unknown>): Promise<void> {
  await db.transaction((tx) =>
    replaceSchedules(tx, repository.id, [{ file: FILE, cron: CRON, nextAt: now - 1 }]),
  );
  const { schedules } = startersOn(interruptOnce(db, change));
  await schedules.startDue(new AbortController().signal);
}

const listSchedules = () => listDueSchedules(db, Number.MAX_SAFE_INTEGER, 10);

test("a schedule whose workflow or repository is disabled meanwhile starts nothing and stays", async () => {
  await startDueDuring(() =>
    db.transaction((tx) => setWorkflowDisabled(tx, repository.id, FILE, true)),
  );
  await db.transaction((tx) => setWorkflowDisabled(tx, repository.id, FILE, false));
  now += 86_400_000;
  await startDueDuring(() => updateRepository(db, repository.id, { archivedAt: now }));
  expect(await countRuns()).toBe(0);
  expect(await listSchedules()).toHaveLength(1);
});

test("a schedule of a branch that is no longer the default starts nothing", async () => {
  await startDueDuring(() => updateRepository(db, repository.id, { defaultBranch: "next" }));
  expect(await countRuns()).toBe(0);
});

test("a schedule that a push takes out of its file and another puts back is not lost", async () => {
  commit("on: push\njobs: { a: { runs-on: x, steps: [{ run: 'true' }] } }\n");
  await startDueDuring(async () => commit(WORKFLOW));
  expect(await listSchedules()).toMatchObject([{ file: FILE, cron: CRON }]);
  now += 2 * 86_400_000;
  await startersOn(db).schedules.startDue(new AbortController().signal);
  expect(await countRuns()).toBe(1);
});

test("a schedule that cannot start does not hold up those after it, and is due again", async () => {
  const other = await db.transaction(async (tx) =>
    insertRepository(tx, newRepositoryRow(mira, "other", { isEmpty: false })),
  );
  const due = [{ file: FILE, cron: CRON, nextAt: now - 2 }];
  await db.transaction(async (tx) => {
    await replaceSchedules(tx, other.id, due);
    await replaceSchedules(tx, repository.id, [{ file: FILE, cron: CRON, nextAt: now - 1 }]);
  });
  const { schedules } = startersOn(db, other.id);
  const starting = schedules.startDue(new AbortController().signal);
  await expect(starting).rejects.toThrow("cannot be stored");
  expect(await countRuns()).toBe(1);
  const [retried] = (await listSchedules()).filter(({ repositoryId }) => repositoryId === other.id);
  expect(retried?.nextAt).toBe(now + 60_000);
});

test("a schedule that a daemon whose clock was ahead has planned is brought forward by another daemon", async () => {
  const startDue = (daemon: { readonly schedules: WorkflowSchedules }) =>
    daemon.schedules.startDue(new AbortController().signal);
  const [ahead, other] = [startersOn(db), startersOn(db)];
  await startDue(other);
  now += 365 * 86_400_000;
  const files = [{ name: FILE, text: WORKFLOW }];
  await ahead.schedules.replace(repository, files);
  now -= 364 * 86_400_000;
  await startDue(other);
  now += 86_400_000;
  await startDue(other);
  expect(await countRuns()).toBe(1);
});

test("a summary is masked by the masks that its job has when it is stored", async () => {
  const taskId = await db.transaction(async (tx) => {
    const run = await insertRun(tx, {
      repositoryId: repository.id,
      actorId: mira.id,
      event: "push",
      workflowFile: FILE,
      workflowFolder: ".gitea/workflows",
      title: "t",
      ref: "refs/heads/main",
      headSha: "0".repeat(40),
      eventPayload: "{}",
      definition: undefined,
      status: "running",
      error: "",
      concurrencyGroup: "",
      isHeld: false,
      triggerKey: "k",
    });
    if (run === undefined) throw new Error("the run exists");
    const job = await insertJob(tx, {
      runId: run.id,
      repositoryId: repository.id,
      attempt: 1,
      parentJobId: undefined,
      key: "a",
      name: "a",
      status: "running",
      isExpanded: true,
      labels: [],
      payload: "",
      failFast: true,
      maxParallel: 0,
      timeoutMinutes: 0,
      continueOnError: false,
    });
    const runner = await insertRunner(tx, {
      uuid: "u",
      tokenHash: "h",
      name: "r",
      ownerId: undefined,
      repositoryId: undefined,
      version: "1",
      labels: [],
      capabilities: [],
      isEphemeral: false,
    });
    const taken = { jobId: job.id, runnerId: runner.id, runnerName: "r" };
    const task = await insertTask(tx, taken, ["build"]);
    await updateTask(tx, task.id, { sealedMasks: "apple" });
    return { task: task.id, job: job.id, run: run.id };
  });
  const { task, job, run } = taskId;
  // The masks are one word, which is not sealed.
  const masks = {
    mask: async (
      { sealedMasks = "" }: { sealedMasks: string | undefined },
      rows: readonly string[],
    ) => ({
      rows: rows.map((row) => row.replaceAll(new RegExp(sealedMasks, "g"), "***")),
      sealedMasks: undefined,
    }),
  };
  const addMask = () => db.transaction((tx) => updateTask(tx, task, { sealedMasks: "apple|pear" }));
  const summaries = createSummaries({ db: interruptOnce(db, addMask), masks });
  const running = {
    taskId: task,
    jobId: job,
    runId: run,
    repositoryId: repository.id,
    attempt: 1,
    fromAttempt: 1,
  };
  await summaries.put(running, { run, job, step: 0 }, Buffer.from("apple and pear"));
  expect(await findNextSummary(db, task, -1)).toMatchObject({ content: "*** and ***" });
  // A log that ends meanwhile has no masks any more.
  const end = () => db.transaction((tx) => updateTask(tx, task, { isLogSealed: true }));
  const late = createSummaries({ db: interruptOnce(db, end), masks });
  await expect(late.put(running, { run, job, step: 0 }, Buffer.from("pear"))).rejects.toMatchObject(
    {
      code: "invalid_argument",
    },
  );
  expect(await findNextSummary(db, task, -1)).toMatchObject({ content: "*** and ***" });
});
