import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import { migrate, readMigrations } from "../../../../../storage/engine/migrate.ts";
import { openSqlite } from "../../../../../storage/engine/sqlite.ts";
import { insertUser, updateUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  deleteActivitiesBefore,
  insertActivity,
  insertWatchersOf,
  listActivitiesByIds,
  setPushContent,
} from "../../../../../storage/tables/forge/activities/activities.ts";
import {
  type FeedFilter,
  listContributions,
  listFeed,
} from "../../../../../storage/tables/forge/activities/feeds.ts";
import type { UserId, RepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { insertWatch } from "../../../../../storage/tables/forge/repositories/watches.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";

const DAY = 86_400_000;

describe.each(["sqlite", "postgres"] as const)("activities, on %s", (engine) => {
  let db: Database;
  let now = Date.UTC(2026, 10, 23, 12);
  let count = 0;
  beforeAll(async () => {
    db = await openTestDatabase({ engine, clock: () => now });
  });
  afterAll(() => db.close());

  const addUser = (more: Parameters<typeof newUserRow>[1] = {}) =>
    db.transaction((tx) => insertUser(tx, newUserRow(`user${(count += 1)}`, more)));
  const addRepository = (
    owner: { readonly id: UserId; readonly name: string },
    more: Parameters<typeof newRepositoryRow>[2] = {},
  ) =>
    db.transaction((tx) =>
      insertRepository(tx, newRepositoryRow(owner, `repo${(count += 1)}`, more)),
    );
  const push = (actorId: UserId, repositoryId: RepositoryId, receivers = [actorId]) =>
    db.transaction((tx) =>
      insertActivity(
        tx,
        { actorId, repositoryId, kind: "commit_repo", ref: "refs/heads/main", objectId: "abc" },
        receivers,
      ),
    );
  const totalOf = async (filter: FeedFilter) =>
    (await listFeed(db, filter, { limit: 10, offset: 0 })).total;

  test("a feed has the latest first, by day and by page", async () => {
    const mira = await addUser();
    const { id } = await addRepository(mira);
    const ids: number[] = [];
    for (let day = 0; day < 3; day += 1) {
      ids.push(await push(mira.id, id));
      now += DAY;
    }
    const filter = { source: { repositoryId: id }, reader: undefined, isPublicOnly: false };
    expect(await listFeed(db, filter, { limit: 2, offset: 0 })).toEqual({
      ids: [ids[2], ids[1]],
      total: 3,
    });
    expect(await listFeed(db, filter, { limit: 2, offset: 2 })).toEqual({
      ids: [ids[0]],
      total: 3,
    });
    expect(await listFeed(db, filter, { limit: 2, offset: 9 })).toEqual({ ids: [], total: 3 });
    const first = Date.UTC(2026, 10, 23);
    const ofDay = { ...filter, since: first + DAY, until: first + 2 * DAY };
    expect((await listFeed(db, ofDay, { limit: 9, offset: 0 })).ids).toEqual([ids[1]]);
    const counted = await listContributions(db, { ...filter, since: first + DAY });
    expect(counted.map(({ contributions }) => contributions)).toEqual([1, 1]);
    expect(counted[0]?.timestamp).toBe(Date.UTC(2026, 10, 24, 12) / 1000);
  });

  test("the visibility of the repository and of the actor counts at this moment", async () => {
    const [mira, nora] = [await addUser(), await addUser()];
    const { id } = await addRepository(mira);
    await push(mira.id, id, [mira.id, nora.id]);
    const seen = async () => {
      const source = { receivedBy: nora.id };
      const readers = [undefined, nora, mira];
      return Promise.all(readers.map((reader) => totalOf({ source, reader, isPublicOnly: false })));
    };
    expect(await seen()).toEqual([1, 1, 1]);
    await db.run("UPDATE forge_repositories SET is_private = 1 WHERE id = ?", id);
    expect(await seen()).toEqual([0, 0, 1]);
    const own = { source: { performedBy: mira.id }, reader: mira };
    expect(await totalOf({ ...own, isPublicOnly: false })).toBe(1);
    expect(await totalOf({ ...own, isPublicOnly: true })).toBe(0);
    await db.run("UPDATE forge_repositories SET is_private = 0 WHERE id = ?", id);
    expect(await seen()).toEqual([1, 1, 1]);
    const hidden = await db.transaction((tx) =>
      updateUser(tx, mira, { keepActivityPrivate: true }),
    );
    expect(await seen()).toEqual([0, 0, 1]);
    await db.transaction((tx) =>
      updateUser(tx, hidden, { keepActivityPrivate: false, visibility: "limited" }),
    );
    // Nor is the repository of an owner whom anonymous callers do not see.
    expect(await seen()).toEqual([0, 1, 1]);
  });

  test("issue activities are hidden while the issues of a repository are turned off", async () => {
    const mira = await addUser();
    const { id } = await addRepository(mira, { settings: { has_issues: false } });
    await db.transaction((tx) =>
      insertActivity(tx, { actorId: mira.id, repositoryId: id, kind: "close_issue" }, []),
    );
    const source = { repositoryId: id };
    expect(await totalOf({ source, reader: mira, isPublicOnly: false })).toBe(0);
    await db.run("UPDATE forge_repositories SET settings = '{}' WHERE id = ?", id);
    expect(await totalOf({ source, reader: mira, isPublicOnly: false })).toBe(1);
  });

  test("watchers get an activity in batches, each once, except those who may not sign in", async () => {
    const mira = await addUser();
    const { id } = await addRepository(mira);
    const watchers: { readonly id: UserId }[] = [];
    for (let index = 0; index < 5; index += 1)
      watchers.push(await addUser({ isActive: index !== 1, prohibitLogin: index === 3 }));
    await db.transaction(async (tx) => {
      for (const userId of [mira.id, ...watchers.map((user) => user.id)])
        await insertWatch(tx, { repositoryId: id, userId, createdAt: tx.now });
    });
    const activityIds = [await push(mira.id, id)];
    const what = { repositoryId: id, activityIds };
    const batch = (after: number) =>
      db.transaction((tx) => insertWatchersOf(tx, what, { after, limit: 2 }));
    let after: number | undefined = 0;
    let batches = 0;
    // Every batch runs twice, as after a crash.
    while (after !== undefined) {
      await batch(after);
      after = await batch(after);
      batches += 1;
    }
    expect(batches).toBe(4);
    const rows = await db.all<{ id: number }>(
      "SELECT user_id AS id FROM forge_activity_receivers WHERE activity_id = ? ORDER BY user_id",
      activityIds[0] ?? 0,
    );
    expect(rows.map((row) => row.id)).toEqual([
      mira.id,
      ...[0, 2, 4].map((index) => watchers[index]?.id),
    ]);
  });

  test("the commits of a push are set once, and only for that push", async () => {
    const mira = await addUser();
    const { id } = await addRepository(mira);
    const activityId = await push(mira.id, id);
    const of = { repositoryId: id, actorId: mira.id, ref: "refs/heads/main", createdAt: now };
    await setPushContent(db, { ...of, objectId: "another" }, "wrong");
    await setPushContent(db, { ...of, objectId: "abc" }, "right");
    await setPushContent(db, { ...of, objectId: "abc" }, "late");
    expect(await listActivitiesByIds(db, [activityId])).toMatchObject([{ content: "right" }]);
  });

  test("old activities are deleted in batches, the oldest first", async () => {
    const mira = await addUser();
    const { id } = await addRepository(mira);
    await db.run("DELETE FROM forge_activities");
    for (let index = 0; index < 5; index += 1) await push(mira.id, id);
    const before = (now += DAY);
    await push(mira.id, id);
    const deleteSome = () => db.transaction((tx) => deleteActivitiesBefore(tx, before, 3));
    expect([await deleteSome(), await deleteSome(), await deleteSome()]).toEqual([3, 2, 0]);
    expect(await db.all("SELECT * FROM forge_activity_receivers")).toHaveLength(1);
  });
});

test("pages of 100,000 activities are read by an index that has their order", async () => {
  const db = await openTestDatabase({ engine: "sqlite" });
  const mira = await db.transaction((tx) => insertUser(tx, newUserRow("mira")));
  const nora = await db.transaction((tx) => insertUser(tx, newUserRow("nora")));
  const { id } = await db.transaction((tx) =>
    insertRepository(tx, newRepositoryRow(mira, "cabin")),
  );
  await db.run(
    `INSERT INTO forge_activities (actor_id, repository_id, kind, ref, object_id, content, created_at)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
     SELECT ?, ?, 5, 'refs/heads/main', '', '', i FROM n`,
    mira.id,
    id,
  );
  await db.run(
    `INSERT INTO forge_activity_receivers (user_id, activity_id, created_at, kind, actor_id, repository_id)
     SELECT ?, id, created_at, kind, actor_id, repository_id FROM forge_activities`,
    nora.id,
  );
  for (const source of [{ receivedBy: nora.id }, { performedBy: mira.id }, { repositoryId: id }]) {
    const statements: { sql: string; values: readonly (string | number)[] }[] = [];
    const spy = new Proxy(db, {
      get: (target, name) =>
        name === "all"
          ? (sql: string, ...values: (string | number)[]) => {
              statements.push({ sql, values });
              return target.all(sql, ...values);
            }
          : Reflect.get(target, name),
    });
    const filter = { source, reader: nora, isPublicOnly: false };
    const { ids, total } = await listFeed(spy, filter, { limit: 2, offset: 60_000 });
    expect(total).toBe(100_000);
    expect((await listActivitiesByIds(db, ids)).map(({ createdAt }) => createdAt)).toEqual([
      40_000, 39_999,
    ]);
    const [page] = statements;
    const plan = await db.all<{ detail: string }>(
      `EXPLAIN QUERY PLAN ${page?.sql ?? ""}`,
      ...(page?.values ?? []),
    );
    const details = plan.map(({ detail }) => detail);
    expect(details.find((detail) => / s /.test(detail))).toMatch(
      /^SEARCH s USING (?:PRIMARY KEY|COVERING INDEX forge_activities_\w+) \(\w+=\?\)$/,
    );
    // Without a sort, LIMIT ends the scan after the page.
    expect(details.join("\n")).not.toMatch(/USE TEMP B-TREE FOR ORDER BY|SCAN s/);
  }
  await db.close();
});

test("the migration records the issues, comments and changes of state of the past", async () => {
  const db = openSqlite({ path: ":memory:", clock: () => 9_000 });
  const all = readMigrations();
  const step = ({ name }: { readonly name: string }) => name === "forge_activities";
  // A released croft has later steps, but not this one.
  await migrate(
    db,
    all.filter((each) => !step(each)),
  );
  const mira = await db.transaction((tx) => insertUser(tx, newUserRow("mira")));
  const crew = await db.transaction((tx) =>
    insertUser(tx, newUserRow("crew", { kind: "organization" })),
  );
  const nora = await db.transaction((tx) => insertUser(tx, newUserRow("nora")));
  const { id } = await db.transaction((tx) =>
    insertRepository(tx, newRepositoryRow(crew, "cabin")),
  );
  await db.transaction((tx) =>
    insertWatch(tx, { repositoryId: id, userId: nora.id, createdAt: 2_500 }),
  );
  await db.run(
    `INSERT INTO forge_issues (id, repository_id, number, author_id, title, body, ref, is_closed, comment_count,
       content_version, created_at, updated_at) VALUES (7, ?, 1, ?, 'Torn', '', '', 1, 1, 0, 2000, 2000)`,
    id,
    mira.id,
  );
  for (const [kind, at] of [
    ["label", 2_100],
    ["comment", 3_000],
    ["close", 4_000],
    ["reopen", 5_000],
  ] as const)
    await db.run(
      "INSERT INTO forge_issue_comments (issue_id, author_id, body, kind, created_at, updated_at) VALUES (7, ?, '', ?, ?, ?)",
      mira.id,
      kind,
      at,
      at,
    );
  await migrate(db, all);
  const list = async (receivedBy: number) => {
    const filter = { source: { receivedBy }, reader: undefined, isPublicOnly: false };
    const { ids } = await listFeed(db, filter, { limit: 9, offset: 0 });
    return (await listActivitiesByIds(db, ids)).map(({ kind }) => kind);
  };
  const later = ["reopen_issue", "close_issue", "comment_issue"];
  expect(await list(mira.id)).toEqual([...later, "create_issue"]);
  expect(await list(crew.id)).toEqual([...later, "create_issue"]);
  expect(await list(nora.id)).toEqual(later);
  await db.close();
});
