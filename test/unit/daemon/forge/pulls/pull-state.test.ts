import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPullFiles } from "../../../../../daemon/forge/pulls/pull-files.ts";
import { createPullState } from "../../../../../daemon/forge/pulls/pull-state.ts";
import type { EnqueuedJob } from "../../../../../daemon/jobs/queue.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import type { IssueId } from "../../../../../storage/tables/forge/ids.ts";
import { findPull } from "../../../../../storage/tables/forge/pulls/pulls.ts";
import { insertPullRows } from "../../../../support/forge/pull-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const directory = mkdtempSync(join(tmpdir(), "croft-pull-state-"));
let db: Database;

beforeAll(async () => {
  db = await openTestDatabase({});
});
afterAll(async () => {
  await db.close();
  rmSync(directory, { recursive: true });
});

test("what follows from a computed pull request is repeated after a failure, and begun only with the result", async () => {
  const issueId = await insertPullRows(db, directory);
  const git = createGit({ searchPath: process.env["PATH"] ?? "" });
  const queued: EnqueuedJob[] = [];
  const followed: IssueId[] = [];
  let fault: Error | undefined = new Error("the process ends here");
  const state = createPullState({
    db,
    git,
    runInFolder: async (_, work) => work(join(directory, ".git")),
    async enqueue(_, job) {
      if (fault !== undefined) throw fault;
      return queued.push(job);
    },
    refs: { writeHead: async () => undefined } as never,
    files: createPullFiles({ git }),
    newKey: () => "one",
    async onComputed(id) {
      if (fault !== undefined) throw fault;
      followed.push(id);
    },
  });
  const run = (kind: string, payload: unknown) =>
    state.jobs
      .find((job) => job.kind === kind)
      ?.run(payload, { id: 1, attempt: 1, signal: AbortSignal.timeout(60_000) });
  const stateOf = async () => (await findPull(db, issueId))?.state;
  const pull = await findPull(db, issueId);
  const compute = () => run("forge.pulls.state", { repositoryId: pull?.repositoryId });

  // Without the job that follows, there is no result either.
  await expect(compute()).rejects.toThrow("the process ends here");
  expect(await stateOf()).toBe("checking");
  fault = undefined;
  await compute();
  expect(await stateOf()).toBe("mergeable");
  expect(queued).toMatchObject([{ kind: "forge.pulls.follow_up", payload: { issueId } }]);
  const [job] = queued;
  const followUp = () => run(job?.kind ?? "", job?.payload);
  fault = new Error("busy");
  await expect(followUp()).rejects.toThrow("busy");
  expect(followed).toEqual([]);
  fault = undefined;
  await followUp();
  expect(followed).toEqual([issueId]);
  // A pull request whose result is there is not computed again.
  await compute();
  expect(queued).toHaveLength(1);
});
