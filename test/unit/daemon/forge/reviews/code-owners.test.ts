import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "../../../../../daemon/errors.ts";
import type { Compute } from "../../../../../daemon/forge/compute.ts";
import { createForgeReviews } from "../../../../../daemon/forge/reviews/reviews.feature.ts";
import type { EnqueuedJob } from "../../../../../daemon/jobs/queue.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertIssue } from "../../../../../storage/tables/forge/issues/issues.ts";
import { insertPull } from "../../../../../storage/tables/forge/pulls/pulls.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { createTestCompute } from "../../../../support/forge/compute.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const directory = mkdtempSync(join(tmpdir(), "croft-code-owners-"));
const compute = createTestCompute();
let db: Database;

const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=Mira", "-c", "user.email=mira@croft.example", ...args], {
    cwd: directory,
    encoding: "utf8",
  }).trim();

beforeAll(async () => {
  db = await openTestDatabase({});
});
afterAll(async () => {
  await db.close();
  await compute.close();
  rmSync(directory, { recursive: true });
});

/** Commits a file and returns the commit. */
function commit(path: string, text: string): string {
  writeFileSync(join(directory, path), text);
  git("add", ".");
  git("commit", "-q", "-m", path);
  return git("rev-parse", "HEAD");
}

async function insertRows() {
  mkdirSync(join(directory, "docs"));
  git("init", "-q", "-b", "main");
  const baseCommit = commit("docs/CODEOWNERS", ".*\\.txt @otto\n");
  git("switch", "-q", "-c", "topic");
  const headCommit = commit("notes.txt", "a note");
  return db.transaction(async (tx) => {
    const mira = await insertUser(tx, newUserRow("mira", {}));
    await insertUser(tx, newUserRow("otto", {}));
    const repository = await insertRepository(tx, newRepositoryRow(mira, "notes", {}));
    const issue = await insertIssue(tx, {
      repositoryId: repository.id,
      authorId: mira.id,
      title: "Add a note",
      body: "",
      ref: "",
      isClosed: false,
      dueAt: undefined,
      isPull: true,
    });
    await insertPull(tx, {
      issueId: issue.id,
      repositoryId: repository.id,
      baseBranch: "main",
      headRepositoryId: repository.id,
      headBranch: "topic",
      headCommit,
      baseCommit,
      allowsMaintainerEdit: false,
    });
    return issue.id;
  });
}

test("owners are asked by a job when their patterns cannot be matched at the moment", async () => {
  const issueId = await insertRows();
  const queued: EnqueuedJob[] = [];
  const asked: string[] = [];
  let isBusy = true;
  const run: Compute["run"] = async (...args) => {
    if (isBusy) throw new AppError("unavailable", "busy", { retryAfterSeconds: 1 });
    return compute.run(...args);
  };
  const { services, jobs } = createForgeReviews({
    db,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
    compute: { ...compute, run },
    runInFolder: async (_, work) => work(join(directory, ".git")),
    enqueue: async (_, job) => queued.push(job),
    emit: async (_, event) => void asked.push(event),
    urls: { publicUrl: () => "http://croft.example" } as never,
    clock: Date.now,
    newUuid: () => "1",
    writeRefs: () => Promise.reject(new Error("writes nothing")),
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
});
