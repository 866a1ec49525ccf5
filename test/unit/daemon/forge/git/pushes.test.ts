import { afterEach, beforeEach, expect, test } from "vitest";
import { createPushes } from "../../../../../daemon/forge/git/pushes.ts";
import type { RefChange } from "../../../../../daemon/forge/events.ts";
import { createJobQueue, type JobQueue } from "../../../../../daemon/jobs/queue.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import type { PushId } from "../../../../../storage/tables/forge/ids.ts";
import { listJobs } from "../../../../../storage/tables/common/jobs.ts";
import { countJobs } from "../../../../support/storage/count-jobs.ts";
import { type ForgeUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  type ForgeRepository,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import type { PushCommits, PushSubscriber } from "../../../../../daemon/forge/push-subscriber.ts";

let db: Database;
let owner: ForgeUser;
let repository: ForgeRepository;
let now: number;
/** What each subscriber published, and the reads of git, in order. */
let happened: string[];
/** The kinds that fail, or `read`. */
let failing: Set<string>;
let logged: string[];

beforeEach(async () => {
  now = 1_000_000;
  happened = [];
  failing = new Set();
  logged = [];
  db = await openTestDatabase({ clock: () => now });
  await db.transaction(async (tx) => {
    owner = await insertUser(tx, newUserRow("mira"));
    repository = await insertRepository(tx, newRepositoryRow(owner, "cabin"));
  });
});
afterEach(() => db.close());

const note = (_facts: unknown, message?: string) => void logged.push(message ?? "");
const log: Log = {
  debug: note,
  info: note,
  warn: note,
  error: note,
  fatal: note,
  child: () => log,
  isLevelEnabled: () => true,
};

const commit = (id: string) => ({ id }) as PushCommits["commits"][number];
const pushed: PushCommits = { commits: ["c", "b", "a"].map(commit), total: 3, head: commit("c") };

function subscriber(name: string, more: Partial<PushSubscriber> = {}): PushSubscriber {
  const kind = `forge.${name}.push`;
  return {
    kind,
    commitsMax: 2,
    select: (_tx, { changes }) => changes,
    async publish({ pushedAt }, { ref }, read) {
      if (failing.has(kind)) throw new Error(`${name} is broken`);
      const ids = read?.commits.map(({ id }) => id).join("") ?? "none";
      happened.push(`${name} ${ref} ${ids} ${pushedAt}`);
    },
    ...more,
  };
}

function open(...subscribers: readonly PushSubscriber[]) {
  const queue: JobQueue = createJobQueue({
    db,
    clock: () => now,
    random: () => 0.5,
    log,
    owner: "one",
    alone: true,
  });
  const pushes = createPushes({
    db,
    enqueue: queue.enqueue,
    log,
    subscribers,
    readPush: async (_repository, { ref, after }, commitsMax) => {
      if (after === undefined) return undefined;
      if (failing.has("read")) throw new Error("git is broken");
      happened.push(`read ${ref} ${commitsMax}`);
      return { ...pushed, commits: pushed.commits.slice(0, commitsMax) };
    },
  });
  for (const job of pushes.jobs) queue.register(job);
  const push = (...changes: readonly RefChange[]) =>
    db.transaction((tx) =>
      pushes.subscribers.push(tx, { repository, owner, pusher: owner, changes, pushId }),
    );
  return { queue, push };
}

const pushId = 1 as PushId;
const main: RefChange = { ref: "refs/heads/main", before: "a", after: "c" };
const gone: RefChange = { ref: "refs/heads/gone", before: "a", after: undefined };

test("one job reads each ref of a push once for all subscribers, each with its own number of commits", async () => {
  const { queue, push } = open(subscriber("hooks"), subscriber("issues", { commitsMax: 3 }));
  await push(main, gone);
  expect(await countJobs(db)).toMatchObject({ waiting: 1 });
  await queue.runDue();
  expect(happened).toEqual([
    "read refs/heads/main 3",
    "hooks refs/heads/main cb 1000000",
    "issues refs/heads/main cba 1000000",
    "hooks refs/heads/gone none 1000000",
    "issues refs/heads/gone none 1000000",
  ]);
});

test("a push that no subscriber selects enqueues nothing", async () => {
  const { push } = open(subscriber("hooks", { select: () => [] }));
  await push(main);
  expect(await countJobs(db)).toMatchObject({ waiting: 0 });
});

test("refs that only some subscribers select are published to those", async () => {
  const ofBranches = subscriber("issues", { select: () => [main] });
  const { queue, push } = open(subscriber("hooks", { select: () => [gone] }), ofBranches);
  await push(main, gone);
  await queue.runDue();
  expect(happened.filter((line) => !line.startsWith("read"))).toEqual([
    "issues refs/heads/main cb 1000000",
    "hooks refs/heads/gone none 1000000",
  ]);
});

test("a subscriber that fails is retried by a job of its own, and the others publish once", async () => {
  const { queue, push } = open(subscriber("hooks"), subscriber("issues"));
  failing.add("forge.hooks.push");
  await push(main);
  await queue.runDue();
  const jobs = await listJobs(db, {}, { limit: 10, offset: 0 });
  expect(jobs.map(({ kind, state }) => [kind, state])).toEqual([["forge.hooks.push", "waiting"]]);
  expect(logged).toContain("failed to publish a push, will retry");
  failing.clear();
  now += 60_000;
  await queue.runDue();
  expect(happened.filter((line) => line.startsWith("issues"))).toHaveLength(1);
  expect(happened.filter((line) => line.startsWith("hooks"))).toEqual([
    "hooks refs/heads/main cb 1000000",
  ]);
});

test("a push that git cannot read is retried for each subscriber", async () => {
  const { queue, push } = open(subscriber("hooks"), subscriber("issues"));
  failing.add("read");
  await push(main);
  await queue.runDue();
  expect(happened).toEqual([]);
  failing.clear();
  now += 60_000;
  await queue.runDue();
  expect(happened.filter((line) => !line.startsWith("read")).toSorted()).toEqual([
    "hooks refs/heads/main cb 1000000",
    "issues refs/heads/main cb 1000000",
  ]);
});

test("pushes of a repository are published in their order, also by two daemons", async () => {
  const gate = Promise.withResolvers<void>();
  const slow = subscriber("hooks", {
    async publish(_push, { after }) {
      if (after === "1") await gate.promise;
      happened.push(after ?? "");
    },
  });
  const [one, two] = [open(slow), open(slow)];
  for (const after of ["1", "2", "3"]) await one.push({ ...main, after });
  const first = one.queue.runDue();
  await expect.poll(() => happened).toContain("read refs/heads/main 2");
  await two.queue.runDue();
  gate.resolve();
  await first;
  expect(happened.filter((line) => !line.startsWith("read"))).toEqual(["1", "2", "3"]);
});

test("the payload of a push of many refs with long names fits a job", async () => {
  const { queue, push } = open(subscriber("hooks"), subscriber("issues"));
  const refs = Array.from({ length: 60 }, (_, at) => `refs/heads/${'"'.repeat(4_000)}${at}`);
  await push(...refs.map((ref) => ({ ref, before: "a", after: "c" })));
  await queue.runDue();
  expect(happened.filter((line) => line.startsWith("hooks"))).toHaveLength(60);
});

test.each([
  ["of version 0.1.0, which has no time", {}, 0],
  ["of a later version", { at: 5 }, 5],
])("a queued job of one subscriber %s still runs", async (_name, time, pushedAt) => {
  const { queue } = open(subscriber("hooks"), subscriber("issues"));
  const payload = {
    repositoryId: repository.id,
    pusherId: owner.id,
    ...time,
    changes: [{ ref: "refs/heads/main", after: "c" }],
  };
  await db.transaction((tx) => queue.enqueue(tx, { kind: "forge.hooks.push", payload }));
  await queue.runDue();
  expect(happened).toEqual(["read refs/heads/main 2", `hooks refs/heads/main cb ${pushedAt}`]);
  expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 0 });
});

test.each(["forge.push", "forge.hooks.push"])(
  "a %s job whose payload does not fit is dead-lettered without a retry",
  async (kind) => {
    const { queue } = open(subscriber("hooks"));
    for (const payload of [null, {}, { repositoryId: "1", pusherId: 2, at: 3, changes: [] }])
      await db.transaction((tx) => queue.enqueue(tx, { kind, payload }));
    await queue.runDue();
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 3 });
    expect(happened).toEqual([]);
  },
);
