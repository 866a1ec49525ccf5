import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createCommitGraphs } from "../../../../../daemon/forge/repositories/commit-graphs.ts";
import { createLanguages } from "../../../../../daemon/forge/repositories/languages/languages.service.ts";
import { workInFolder } from "../../../../../daemon/forge/repositories/work-in-folder.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import { toRepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import type { ForgeRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const repository = { id: 1 } as ForgeRepository;
let root: string;
let place: string | undefined;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "croft-work-"));
  place = join(root, "staging.git");
  await mkdir(place);
  await git.run(["init", "--bare", "--quiet"], { directory: place });
});
afterEach(() => rm(root, { recursive: true }));

const deps = {
  find: async () => (place === undefined ? undefined : repository),
  complete: async () => true,
  locate: async () => place ?? "",
};

async function moveTo(name: string): Promise<void> {
  const target = join(root, name);
  await rename(place ?? "", target);
  place = target;
}

const repositoryId = toRepositoryId(1);
const readHead = (directory: string) => git.run(["symbolic-ref", "HEAD"], { directory });

test("work in a folder that moves before git starts is repeated at its new path", async () => {
  const visited: string[] = [];
  await workInFolder(deps, repositoryId, async (directory) => {
    visited.push(directory);
    if (visited.length === 1) await moveTo("owner.git");
    await readHead(directory);
  });
  expect(visited).toEqual([join(root, "staging.git"), join(root, "owner.git")]);
});

test("work in a repository that gets deleted ends without an error", async () => {
  await workInFolder(deps, repositoryId, async (directory) => {
    await rm(directory, { recursive: true });
    place = undefined;
    await readHead(directory);
  });
});

test("a failure in a folder that stays is thrown, and so is one in a folder that keeps moving", async () => {
  const fail = () => Promise.reject(new Error("damaged"));
  await expect(workInFolder(deps, repositoryId, fail)).rejects.toThrow("damaged");
  let moves = 0;
  const restless = async (directory: string) => {
    await moveTo(`${++moves}.git`);
    await readHead(directory);
  };
  await expect(workInFolder(deps, repositoryId, restless)).rejects.toThrow("its folder is missing");
});

test.each([
  [true, 6_000],
  [false, 1_000],
])("the first jobs of a repository with isAdopted %s are due at %i", async (isAdopted, due) => {
  const times: (number | undefined)[] = [];
  const enqueue = async (_tx: unknown, { runAt }: { runAt?: number }) => times.push(runAt);
  // The rest is needed when a job runs.
  const jobDeps = { enqueue, moves: { complete: async () => true } } as never;
  const created = { repository: { ...repository, isEmpty: false }, isAdopted } as never;
  const tx = { now: 1_000 } as never;
  await createCommitGraphs(jobDeps).subscribers["repository.created"](tx, created);
  await createLanguages(jobDeps).subscribers["repository.created"](tx, created);
  expect(times).toEqual([due, due]);
});
