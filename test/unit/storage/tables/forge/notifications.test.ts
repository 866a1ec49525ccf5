import { beforeAll, afterAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import {
  emptyMailboxesOf,
  findMailbox,
} from "../../../../../storage/tables/forge/accounts/mailboxes.ts";
import {
  type UserId,
  type ThreadId,
  toUserId,
  toRepositoryId,
  toThreadId,
} from "../../../../../storage/tables/forge/ids.ts";
import {
  countThreads,
  findThread,
  listUpdates,
  listThreads,
  markThread,
  markThreads,
  type Statement,
  upsertThread,
  type ThreadFilter,
  toCountStatement,
  toMarkStatement,
  toUpdatesStatement,
  toPageStatement,
} from "../../../../../storage/tables/forge/notifications.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const START = 1_800_000_000_000;
let now = START;
let db: Database;
let people = 0;

beforeAll(async () => {
  db = await openTestDatabase({ clock: () => now });
});
afterAll(() => db.close());

/** A person with a repository of the same id, as bare as the schema allows. */
async function addPerson(): Promise<UserId> {
  const id = toUserId((people += 1));
  const [user, repository] = [
    {
      id,
      kind: 0,
      name: `p${id}`,
      lower_name: `p${id}`,
      full_name: "",
      email: `p${id}@x`,
      keep_email_private: 0,
      login_source: 0,
      login_name: "",
      password_hash: "",
      must_change_password: 0,
      is_active: 1,
      is_admin: 0,
      is_restricted: 0,
      prohibit_login: 0,
      two_factor_enabled: 0,
      allow_git_hook: 0,
      allow_import_local: 0,
      allow_create_organization: 0,
      max_repo_creation: -1,
      visibility: 0,
      website: "",
      location: "",
      description: "",
      language: "",
      avatar_hash: "",
      repo_admin_change_team_access: 0,
      created_at: now,
      updated_at: now,
      facet: 0,
    },
    {
      id,
      owner_id: id,
      name: "r",
      lower_name: "r",
      description: "",
      is_private: 0,
      is_template: 0,
      is_empty: 1,
      branch_count: 0,
      default_branch: "main",
      object_format: "sha1",
      trust_model: "",
      licenses: "[]",
      size_kib: 0,
      path: `p${id}/r.git`,
      needs_move: 0,
      created_at: now,
      updated_at: now,
    },
  ];
  for (const [table, row] of [
    ["forge_users", user],
    ["forge_repositories", repository],
  ] as const)
    await db.run(
      `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.keys(row)
        .map(() => "?")
        .join(", ")})`,
      ...Object.values(row),
    );
  return id;
}

const tell = (userId: UserId, commitId: string, notifiedAt = now) =>
  db.transaction((tx) =>
    upsertThread(tx, {
      userId,
      repositoryId: toRepositoryId(userId),
      kind: "commit",
      commitId,
      notifiedAt,
    }),
  );
const allOf = (userId: UserId): ThreadFilter => ({ userId, statuses: [], kinds: [] });
const everything = { limit: 100, offset: 0 };

describe("telling", () => {
  test("a repeated event changes nothing, a later one makes a read thread unread", async () => {
    const userId = await addPerson();
    const id = await tell(userId, "a");
    expect(await tell(userId, "a")).toBeUndefined();
    await db.transaction((tx) => markThread(tx, { id: id ?? toThreadId(0), userId }, "read"));
    expect(await tell(userId, "a", now - 1)).toBeUndefined();
    expect(await findThread(db, id ?? toThreadId(0))).toMatchObject({ status: "read" });
    now += 1000;
    expect(await tell(userId, "a")).toBe(id);
    expect(await findThread(db, id ?? toThreadId(0))).toMatchObject({
      status: "unread",
      updatedAt: now,
    });
  });

  test("an event of a pinned thread leaves it pinned and moves it up", async () => {
    const userId = await addPerson();
    const id = await tell(userId, "a");
    await db.transaction((tx) => markThread(tx, { id: id ?? toThreadId(0), userId }, "pinned"));
    now += 1000;
    await tell(userId, "a");
    expect(await findThread(db, id ?? toThreadId(0))).toMatchObject({
      status: "pinned",
      updatedAt: now,
    });
  });

  test("notifying and marking advance the revision of a mailbox, reading does not", async () => {
    const [userId, other] = [await addPerson(), await addPerson()];
    expect(await findMailbox(db, userId)).toEqual({ revision: 0, changedAt: 0, unread: 0 });
    const id = (await tell(userId, "a")) ?? toThreadId(0);
    expect(await findMailbox(db, userId)).toEqual({ revision: 1, changedAt: now, unread: 1 });
    await tell(userId, "a");
    await listThreads(db, allOf(userId), everything);
    await db.transaction((tx) => markThread(tx, { id, userId: other }, "read"));
    expect(await findMailbox(db, userId)).toMatchObject({ revision: 1 });
    await db.transaction((tx) => markThreads(tx, allOf(userId), "read"));
    expect(await findMailbox(db, userId)).toMatchObject({ revision: 2 });
    expect(await findMailbox(db, other)).toMatchObject({ revision: 0 });
  });
});

test("marking in bulk changes only the user's own matching threads", async () => {
  const [userId, other] = [await addPerson(), await addPerson()];
  const early = (await tell(userId, "a")) ?? toThreadId(0);
  now += 5000;
  const late = (await tell(userId, "b")) ?? toThreadId(0);
  await tell(other, "c");
  const upTo = { ...allOf(userId), before: now - 1 };
  expect(await db.transaction((tx) => markThreads(tx, upTo, "read"))).toBe(1);
  expect(await findThread(db, early)).toMatchObject({ status: "read", updatedAt: now });
  expect(await findThread(db, late)).toMatchObject({ status: "unread" });
  expect(await countThreads(db, { ...allOf(other), statuses: ["unread"] })).toBe(1);
});

test("lists are ordered by change over all statuses", async () => {
  const userId = await addPerson();
  const ids: ThreadId[] = [];
  for (const commit of ["a", "b", "c", "d"]) {
    now += 1000;
    ids.unshift((await tell(userId, commit)) ?? toThreadId(0));
  }
  const status = (id: ThreadId | undefined, to: "read" | "pinned", at: number) =>
    db.run(
      "UPDATE forge_notifications SET status = ?, updated_at = ? WHERE id = ?",
      to === "read" ? 1 : 2,
      at,
      id ?? 0,
    );
  await status(ids[1], "read", now - 1000);
  await status(ids[2], "pinned", now - 2000);
  const listed = await listThreads(db, allOf(userId), everything);
  expect(listed.map(({ id }) => id)).toEqual(ids);
  expect(await listThreads(db, allOf(userId), { limit: 2, offset: 1 })).toEqual(listed.slice(1, 3));
  const two = { ...allOf(userId), statuses: ["unread", "pinned"] as const };
  expect((await listThreads(db, two, everything)).map(({ id }) => id)).toEqual([
    ids[0],
    ids[2],
    ids[3],
  ]);
});

describe("news", () => {
  test("lists notifications once, in the order of their publication, regardless of state", async () => {
    const [userId, other] = [await addPerson(), await addPerson()];
    const first = (await tell(userId, "a")) ?? 0;
    const second = (await tell(userId, "b")) ?? 0;
    await tell(other, "a");
    const known = (await findMailbox(db, userId)).revision;
    now += 1000;
    await tell(userId, "a");
    const third = (await tell(userId, "c")) ?? 0;
    await db.transaction((tx) => markThreads(tx, allOf(userId), "read"));
    const { revision } = await findMailbox(db, userId);
    const since = async (after: number, limit = 10) =>
      (await listUpdates(db, userId, { after, upTo: revision, limit })).map(
        ({ thread }) => thread.id,
      );
    expect(await since(0)).toEqual([second, first, third]);
    expect(await since(known)).toEqual([first, third]);
    expect(await since(known, 1)).toEqual([first]);
    expect(await since(revision)).toEqual([]);
  });
});

describe("the counts of a mailbox", () => {
  const statuses = ["unread", "read", "pinned"] as const;

  /** Returns the counts of the mailbox and the real counts. */
  async function countBoth(userId: UserId): Promise<[kept: number[], real: number[]]> {
    const kept: number[] = [];
    const real: number[] = [];
    for (const status of statuses) {
      kept.push(await countThreads(db, { ...allOf(userId), statuses: [status] }));
      // A time has the rows counted.
      real.push(await countThreads(db, { ...allOf(userId), statuses: [status], since: 0 }));
    }
    return [kept, real];
  }

  test("the counters stay correct after any publications and marks", async () => {
    const userId = await addPerson();
    const ids: ThreadId[] = [];
    // A fixed sequence that mixes everything: the numbers come from a small generator.
    let seed = 7;
    const pick = (below: number) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % below;
    for (let step = 0; step < 300; step += 1) {
      now += 1;
      const to = statuses[pick(3)] ?? "read";
      const from = statuses[pick(3)] ?? "read";
      const what = pick(10);
      if (what < 5) {
        const id = await tell(userId, `c${pick(20)}`);
        if (id !== undefined && !ids.includes(id)) ids.push(id);
      } else if (what < 9) {
        const id = ids[pick(Math.max(ids.length, 1))] ?? toThreadId(0);
        await db.transaction((tx) => markThread(tx, { id, userId }, to));
      } else {
        const filter = { ...allOf(userId), statuses: [from], before: now - pick(20) };
        await db.transaction((tx) => markThreads(tx, filter, to));
      }
    }
    const [kept, real] = await countBoth(userId);
    expect(kept).toEqual(real);
    expect(kept.reduce((sum, each) => sum + each, 0)).toBe(ids.length);
  });

  test("delete the threads of a deleted repository, and wake the streams of their users", async () => {
    const [userId, other] = [await addPerson(), await addPerson()];
    const gone = await addPerson();
    const tellOf = (to: UserId, repository: number, commitId: string) =>
      db.transaction((tx) =>
        upsertThread(tx, {
          userId: to,
          repositoryId: toRepositoryId(repository),
          kind: "commit",
          commitId,
          notifiedAt: now,
        }),
      );
    await tellOf(userId, gone, "a");
    const pinned = (await tellOf(userId, gone, "b")) ?? toThreadId(0);
    await tellOf(userId, userId, "a");
    await tellOf(other, other, "a");
    await db.transaction((tx) => markThread(tx, { id: pinned, userId }, "pinned"));
    const before = [await findMailbox(db, userId), await findMailbox(db, other)];
    await db.transaction((tx) => emptyMailboxesOf(tx, { repositoryId: toRepositoryId(gone) }));
    expect(await countBoth(userId)).toEqual([
      [1, 0, 0],
      [1, 0, 0],
    ]);
    expect((await findMailbox(db, userId)).revision).toBe((before[0]?.revision ?? 0) + 1);
    expect(await findMailbox(db, other)).toEqual(before[1]);
  });
});

describe("a mailbox of any size", () => {
  const filters: readonly [string, ThreadFilter][] = [
    ["the default", { userId: toUserId(1), statuses: ["unread", "pinned"], kinds: [] }],
    ["everything", { userId: toUserId(1), statuses: [], kinds: [] }],
    [
      "all filters at once",
      {
        userId: toUserId(1),
        statuses: ["read"],
        kinds: ["issue", "commit"],
        repositoryId: toRepositoryId(1),
        since: 1,
        before: 2,
      },
    ],
  ];

  async function explain(statement: Statement): Promise<string[]> {
    await using sqlite = Object.assign(await openTestDatabase({ engine: "sqlite" }), {
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
    const rows = await sqlite.all<{ detail: string }>(
      `EXPLAIN QUERY PLAN ${statement.sql}`,
      ...statement.values,
    );
    await sqlite.close();
    return rows.map(({ detail }) => detail);
  }

  test.each(filters)(
    "is listed from the index alone, without sorting: %s",
    async (_name, filter) => {
      const plan = await explain(toPageStatement(filter, { limit: 50, offset: 0 }));
      for (const step of plan.filter((each) => each.includes("forge_notifications USING")))
        expect(step).toMatch(
          /^SEARCH forge_notifications USING COVERING INDEX forge_notifications_mailbox/,
        );
      expect(plan.filter((step) => step.startsWith("SCAN"))).toEqual(["SCAN page"]);
      expect(plan.filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
    },
  );

  test.each(filters.slice(0, 2))("is counted from one row: %s", async (_name, filter) => {
    expect(await explain(toCountStatement(filter))).toEqual([
      "SEARCH forge_mailboxes USING INTEGER PRIMARY KEY (rowid=?)",
    ]);
  });

  test.each(filters.slice(2))("is counted from the index alone: %s", async (_name, filter) => {
    for (const step of (await explain(toCountStatement(filter))).filter((each) =>
      each.includes("forge_notifications"),
    ))
      expect(step).toMatch(
        /^SEARCH forge_notifications USING COVERING INDEX forge_notifications_mailbox/,
      );
  });

  test("reads new threads from an index", async () => {
    const plan = await explain(toUpdatesStatement(toUserId(1), { after: 1, upTo: 9, limit: 50 }));
    expect(plan).toEqual([
      expect.stringMatching(/^SEARCH forge_notifications USING INDEX forge_notifications_news/),
    ]);
  });

  test.each(filters)("is marked by one ranged statement: %s", async (_name, filter) => {
    const plan = await explain(toMarkStatement(filter, "read", 1));
    expect(plan.join("\n")).toMatch(
      /^SEARCH forge_notifications USING .*forge_notifications_mailbox/,
    );
    expect(plan.filter((step) => step.startsWith("SCAN"))).toEqual([]);
  });
});
