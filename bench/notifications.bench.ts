import {
  countThreads,
  listThreads,
  markThreads,
  type ThreadFilter,
} from "../storage/tables/forge/notifications.ts";
import { insertRepository } from "../storage/tables/forge/repositories/repositories.ts";
import { startForgeApp } from "../test/support/forge/forge-app.ts";
import { atMost, report } from "./measure.ts";
import { newRepositoryRow } from "../test/support/forge/forge-rows.ts";
import type { UserId } from "../storage/tables/forge/ids.ts";

// A mailbox of 100,000 threads against one of 1,000, in memory: costs that grow with the mailbox show at once.

const SMALL = 1_000;
const LARGE = 100_000;
const ROUNDS = 21;

const app = await startForgeApp();
const { db } = app;
const small = await fill("small", SMALL);
const large = await fill("large", LARGE);

const list = (userId: UserId) =>
  median(() => listThreads(db, byDefault(userId), { limit: 50, offset: 0 }));
const unread = (userId: UserId): ThreadFilter => ({ userId, statuses: ["unread"], kinds: [] });
const count = (userId: UserId) => median(() => countThreads(db, unread(userId)));

const [listSmall, listLarge] = [await list(small), await list(large)];
const [countSmall, countLarge] = [await count(small), await count(large)];
const markSmall = await markAll(small);
const markLarge = await markAll(large);
report(
  `Notifications, ${LARGE} threads against ${SMALL}, median of ${ROUNDS} rounds`,
  "Lists and counts are read from indexes, so a mailbox a hundred times as large may cost twice.",
  [
    atMost("a page of 50, times the small mailbox", listLarge / listSmall, 2, ""),
    { label: "a page of 50, of the large one", value: `${listLarge.toFixed(2)} ms` },
    { label: "count of unread, of the small one", value: `${countSmall.toFixed(3)} ms` },
    atMost("count of unread, times the small mailbox", countLarge / countSmall, 2, ""),
    atMost(
      "mark all, for each thread, times the small mailbox",
      markLarge / LARGE / (markSmall / SMALL),
      2,
      "",
    ),
    { label: "mark all, of the large one", value: `${markLarge.toFixed(0)} ms` },
  ],
);
await app[Symbol.asyncDispose]();

function byDefault(userId: UserId): ThreadFilter {
  return { userId, statuses: ["unread", "pinned"], kinds: [] };
}

/** A person with this many unread threads. */
async function fill(username: string, threads: number): Promise<UserId> {
  const { id } = await app.addUser({ username });
  await db.transaction(async (tx) => {
    const repository = await insertRepository(
      tx,
      newRepositoryRow({ id, name: username }, "notes"),
    );
    await tx.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO forge_notifications (user_id, repository_id, kind, status, commit_id, told_at, news_revision, updated_at)
       SELECT ?, ?, 3, 0, 'c' || i, i, i, i FROM n`,
      threads,
      id,
      repository.id,
    );
    await tx.run(
      `INSERT INTO forge_mailboxes (user_id, revision, changed_at, unread_count, read_count, pinned_count)
       VALUES (?, ?, ?, ?, 0, 0)`,
      id,
      threads,
      tx.now,
      threads,
    );
  });
  return id;
}

/** Milliseconds of the one statement; the threads are unread again afterwards. */
function markAll(userId: UserId): Promise<number> {
  return median(
    () => db.transaction((tx) => markThreads(tx, unread(userId), "read")),
    () =>
      db.transaction((tx) => markThreads(tx, { ...unread(userId), statuses: ["read"] }, "unread")),
    5,
  );
}

async function median(
  work: () => Promise<unknown>,
  restore?: () => Promise<unknown>,
  rounds = ROUNDS,
): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
    await restore?.();
  }
  return times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
}
