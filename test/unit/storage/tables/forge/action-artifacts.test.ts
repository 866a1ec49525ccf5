import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import {
  isObjectReferenced,
  listObjectReferences,
} from "../../../../../storage/tables/common/object-references.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  completeArtifact,
  countBlocks,
  countRunArtifacts,
  deleteArtifact,
  findArtifact,
  findArtifactOfTask,
  insertArtifact,
  listArtifacts,
  listBlocks,
  listReadyArtifacts,
  orderBlocks,
  putBlock,
} from "../../../../../storage/tables/forge/actions/artifacts.ts";
import { insertJob } from "../../../../../storage/tables/forge/actions/jobs.ts";
import { insertRunner } from "../../../../../storage/tables/forge/actions/runners.ts";
import { deleteRun, insertRun } from "../../../../../storage/tables/forge/actions/runs.ts";
import {
  deleteUnfinishedUploads,
  deleteUsedRunners,
  expireArtifacts,
  expireLogs,
  listExpiredRuns,
} from "../../../../../storage/tables/forge/actions/retention.ts";
import {
  countOtherSummaries,
  findNextSummary,
  putSummary,
} from "../../../../../storage/tables/forge/actions/summaries.ts";
import {
  findLogChunk,
  findTask,
  insertLogChunk,
  insertTask,
  updateTask,
} from "../../../../../storage/tables/forge/actions/tasks.ts";
import {
  type TaskId,
  type RunId,
  type RepositoryId,
  toRunId,
} from "../../../../../storage/tables/forge/ids.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const hash = (digit: string) => digit.repeat(64);

describe.each(["sqlite", "postgres"] as const)("artifacts on %s", (engine) => {
  let db: Database;
  let made: { repositoryId: RepositoryId; runId: RunId; taskId: TaskId };

  beforeAll(async () => {
    db = await openTestDatabase({ engine });
    made = await db.transaction(async (tx) => {
      const owner = await insertUser(tx, newUserRow("mira"));
      const { id: repositoryId } = await insertRepository(tx, newRepositoryRow(owner, "one"));
      const run = await insertRun(tx, {
        repositoryId,
        actorId: owner.id,
        event: "push",
        workflowFile: "ci.yml",
        workflowFolder: ".gitea/workflows",
        title: "t",
        ref: "refs/heads/main",
        headSha: "0".repeat(40),
        eventPayload: "{}",
        definition: undefined,
        status: "success",
        error: "",
        concurrencyGroup: "",
        isHeld: false,
        triggerKey: "k",
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
      const runId = run?.id ?? toRunId(0);
      const job = await insertJob(tx, {
        runId,
        repositoryId,
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
      const named = { jobId: job.id, runnerId: runner.id, runnerName: "r" };
      return { repositoryId, runId, taskId: (await insertTask(tx, named, [])).id };
    });
  });
  afterAll(() => db.close());

  const newArtifact = (name: string, attempt = 1) =>
    db.transaction((tx) =>
      insertArtifact(tx, { ...made, attempt, name, contentType: "application/zip", expiresAt: 9 }),
    );

  test("blocks are replaced by id, ordered by a list, and named as objects until the artifact is ready", async () => {
    const artifact = await newArtifact("report");
    await db.transaction(async (tx) => {
      for (const [blockId, digit] of [
        ["b", "1"],
        ["a", "2"],
        ["c", "3"],
        ["a", "4"],
      ] as const)
        await putBlock(tx, artifact.id, { blockId, size: 5, sha256: hash(digit) });
    });
    const ids = async () => (await listBlocks(db, artifact.id)).map(({ blockId }) => blockId);
    expect(await ids()).toEqual(["b", "a", "c"]);
    expect(await db.transaction((tx) => orderBlocks(tx, artifact.id, ["a", "x"]))).toBe("x");
    expect(await ids()).toEqual(["b", "a", "c"]);
    await db.transaction((tx) => orderBlocks(tx, artifact.id, ["a", "b"]));
    expect(await ids()).toEqual(["a", "b"]);
    expect(await countBlocks(db, artifact.id, "a")).toEqual({ count: 2, bytes: 10 });
    expect(await countRunArtifacts(db, made.runId)).toEqual({ count: 1, bytes: 15 });
    expect(await isObjectReferenced(db, hash("2"))).toBe(false);
    expect(await isObjectReferenced(db, hash("4"))).toBe(true);
    expect(await findArtifactOfTask(db, made.taskId, "report", "pending")).toEqual(artifact);
    expect((await listArtifacts(db, made, { limit: 9, offset: 0 })).total).toBe(0);

    const object = { sha256: hash("5"), size: 10 };
    expect(await db.transaction((tx) => completeArtifact(tx, artifact, object))).toBe(true);
    expect(await db.transaction((tx) => completeArtifact(tx, artifact, object))).toBe(false);
    expect(await findArtifact(db, artifact.id)).toMatchObject({ ...object, state: "ready" });
    expect(await isObjectReferenced(db, hash("4"))).toBe(false);
    expect(await listObjectReferences(db, "", 9)).toEqual([object]);
    expect(await countRunArtifacts(db, made.runId)).toEqual({ count: 1, bytes: 10 });
  });

  test("artifacts, uploads and logs expire by their time, and summaries are replaced and deleted", async () => {
    const object = { sha256: hash("7"), size: 1 };
    const ready = await newArtifact("expiring");
    await db.transaction((tx) => completeArtifact(tx, ready, object));
    const pending = await newArtifact("unfinished");
    const { createdAt } = pending;
    expect(await expireArtifacts(db, 9, 5)).toBe(0);
    expect(await expireArtifacts(db, 10, 5)).toBeGreaterThan(0);
    expect(await findArtifact(db, ready.id)).toMatchObject({ state: "expired", sha256: undefined });
    expect(await isObjectReferenced(db, object.sha256)).toBe(false);
    // An upload of a task that runs stays.
    expect(await deleteUnfinishedUploads(db, createdAt + 1, 5)).toBe(0);
    const content = Buffer.from("x");
    await db.transaction(async (tx) => {
      await insertLogChunk(tx, { taskId: made.taskId, firstRow: 0, rowCount: 2, content });
      await updateTask(tx, made.taskId, { completedAt: createdAt, logRows: 2 });
      for (const [number, text] of [
        [0, "lost"],
        [2, "third"],
        [0, "first"],
        [1, "gone"],
        [1, ""],
      ] as const)
        await putSummary(tx, { taskId: made.taskId, number, content: text });
    });
    expect(await deleteUnfinishedUploads(db, createdAt, 5)).toBe(0);
    expect(await deleteUnfinishedUploads(db, createdAt + 1, 5)).toBe(1);
    expect(await findLogChunk(db, made.taskId, 1)).toMatchObject({ firstRow: 0, rowCount: 2 });
    expect(await findLogChunk(db, made.taskId, 2)).toBeUndefined();
    expect(await expireLogs(db, createdAt, 5)).toBe(0);
    expect(await expireLogs(db, createdAt + 1, 5)).toBe(1);
    expect(await expireLogs(db, createdAt + 1, 5)).toBe(0);
    expect(await findLogChunk(db, made.taskId, 0)).toBeUndefined();
    expect(await findTask(db, made.taskId)).toMatchObject({
      isLogExpired: true,
      isLogSealed: true,
    });
    expect(await listExpiredRuns(db, createdAt + 1, 5)).toEqual([]);
    expect((await findNextSummary(db, made.taskId, -1))?.content).toBe("first");
    expect((await findNextSummary(db, made.taskId, 0))?.content).toBe("third");
    expect(await findNextSummary(db, made.taskId, 2)).toBeUndefined();
    expect(await countOtherSummaries(db, made.taskId, 0)).toBe(5);
    await deleteUsedRunners(db);
  });

  test("one that is completed replaces the ready one of its attempt and name alone", async () => {
    const object = { sha256: hash("6"), size: 1 };
    const complete = async (name: string, attempt: number) => {
      const artifact = await newArtifact(name, attempt);
      await db.transaction((tx) => completeArtifact(tx, artifact, object));
      return artifact.id;
    };
    const first = await complete("site", 1);
    const later = await complete("site", 2);
    const again = await complete("site", 1);
    expect(await findArtifact(db, first)).toBeUndefined();
    const ready = { runId: made.runId, fromAttempt: 1, toAttempt: 2 };
    const sites = (await listReadyArtifacts(db, ready)).filter(({ name }) => name === "site");
    expect(sites.map(({ id }) => id)).toEqual([later, again]);
    const found = await listArtifacts(db, { ...made, name: "site" }, { limit: 1, offset: 1 });
    expect([found.total, found.artifacts.map(({ id }) => id)]).toEqual([2, [again]]);
    await db.transaction((tx) => deleteArtifact(tx, later));
    expect(await listReadyArtifacts(db, { ...ready, fromAttempt: 2 })).toEqual([]);
    await db.transaction((tx) => deleteRun(tx, made.runId));
    expect(await findArtifact(db, again)).toBeUndefined();
    expect(await isObjectReferenced(db, object.sha256)).toBe(false);
  });
});
