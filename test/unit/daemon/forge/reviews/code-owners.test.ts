import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "../../../../../daemon/errors.ts";
import type { Compute } from "../../../../../daemon/forge/compute.ts";
import { createForgeReviews } from "../../../../../daemon/forge/reviews/reviews.feature.ts";
import type { EnqueuedJob } from "../../../../../daemon/jobs/queue.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import { createTestCompute } from "../../../../support/forge/compute.ts";
import { insertPullRows } from "../../../../support/forge/pull-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const directory = mkdtempSync(join(tmpdir(), "croft-code-owners-"));
const compute = createTestCompute();
let db: Database;

beforeAll(async () => {
  db = await openTestDatabase({});
});
afterAll(async () => {
  await db.close();
  await compute.close();
  rmSync(directory, { recursive: true });
});

const newReviews = (deps: Partial<Parameters<typeof createForgeReviews>[0]>) =>
  createForgeReviews({
    db,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
    compute,
    runInFolder: async (_, work) => work(join(directory, ".git")),
    enqueue: async () => 1,
    emit: async () => undefined,
    urls: { publicUrl: () => "http://croft.example" } as never,
    clock: Date.now,
    newUuid: () => "1",
    writeRefs: () => Promise.reject(new Error("writes nothing")),
    ...deps,
  });

test("owners are asked by a job when their patterns cannot be matched at the moment", async () => {
  const issueId = await insertPullRows(db, directory);
  const queued: EnqueuedJob[] = [];
  const asked: string[] = [];
  let isBusy = true;
  const run: Compute["run"] = async (...args) => {
    if (isBusy) throw new AppError("unavailable", "busy", { retryAfterSeconds: 1 });
    return compute.run(...args);
  };
  const { services, jobs } = newReviews({
    compute: { ...compute, run },
    enqueue: async (_, job) => queued.push(job),
    emit: async (_, event) => void asked.push(event),
  });
  await services.requestOwners(issueId);
  const [job] = queued;
  expect(queued).toMatchObject([{ kind: jobs[0]?.kind, payload: { issueId } }]);
  await expect(jobs[0]?.run(job?.payload)).rejects.toThrow("busy");
  expect(asked).toEqual([]);
  isBusy = false;
  await jobs[0]?.run(job?.payload);
  expect(asked).toEqual(["review_request"]);
  await services.requestOwners(issueId);
  expect([asked.length, queued.length]).toEqual([1, 1]);

  // Git that fails says nothing of the file.
  const broken = newReviews({ runInFolder: async (_, work) => work(join(directory, "docs")) });
  await expect(broken.services.requestOwners(issueId)).rejects.toThrow("not a git repository");
});
