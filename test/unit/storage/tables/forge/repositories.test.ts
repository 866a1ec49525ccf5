import { afterEach, beforeEach, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import { isConflict } from "../../../../../storage/engine/database.ts";
import {
  deleteRepository,
  findRepositoryByName,
  insertRepository,
  type NewForgeRepository,
  ownsRepository,
  updateRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import {
  listRepositoriesOfMember,
  toOwnedStatement,
} from "../../../../../storage/tables/forge/repositories/lists.ts";
import {
  insertChore,
  listChoresAt,
  listMovingRepositories,
  listPathsIn,
  markForMove,
} from "../../../../../storage/tables/forge/repositories/moves.ts";
import {
  countWatchers,
  insertWatch,
  listWatchers,
} from "../../../../../storage/tables/forge/repositories/watches.ts";
import {
  insertLabels,
  listLabels,
} from "../../../../../storage/tables/forge/repositories/labels.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { type UserId, toUserId, toRepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";

let db: Database;
let owner: UserId;
beforeEach(async () => {
  db = await openTestDatabase();
  owner = (await db.transaction((tx) => insertUser(tx, newUserRow("Mira")))).id;
});
afterEach(() => db.close());

const add = (name: string, more: Partial<NewForgeRepository> = {}) =>
  db.transaction((tx) =>
    insertRepository(
      tx,
      newRepositoryRow({ id: owner, name: "mira" }, name, {
        licenses: ["MIT"],
        path: `mira/${name.toLowerCase()}.git`,
        ...more,
      }),
    ),
  );

test("a repository is read back unchanged, and found regardless of case", async () => {
  const made = await add("Notes");
  expect(await findRepositoryByName(db, owner, "nOTES")).toEqual(made);
  await updateRepository(db, made.id, { isEmpty: false, branchCount: 2, updatedAt: 5 });
  expect(await findRepositoryByName(db, owner, "notes")).toEqual({
    ...made,
    isEmpty: false,
    branchCount: 2,
    updatedAt: 5,
  });
});

test("names are unique for an owner and paths for all; ids are never used twice", async () => {
  const first = await add("one");
  await expect(add("ONE", { path: "x" })).rejects.toSatisfy(isConflict);
  await expect(add("two", { path: first.path })).rejects.toSatisfy(isConflict);
  await db.transaction((tx) => deleteRepository(tx, first.id));
  expect((await add("one")).id).toBeGreaterThan(first.id);
  expect(await ownsRepository(db, owner)).toBe(true);
});

test("folders to move are listed with their targets", async () => {
  const made = await add("one", { path: ".croft/new-1", needsMove: true });
  await add("two");
  expect(await listMovingRepositories(db, { afterId: 0, limit: 9 })).toEqual([
    { id: made.id, path: ".croft/new-1", target: "mira/one.git" },
  ]);
  await db.transaction((tx) => markForMove(tx, owner));
  expect(await listMovingRepositories(db, { afterId: made.id, limit: 9 })).toHaveLength(1);
});

test("the paths in a folder are those below it, not those with the same prefix", async () => {
  await add("a");
  await add("b", { path: "mira-2/b.git" });
  await add("c", { path: "mir/c.git" });
  expect(await listPathsIn(db, "mira")).toEqual(["mira/a.git"]);
});

test("chores are found by their place", async () => {
  await db.transaction(async (tx) => {
    await insertChore(tx, { kind: "remove", path: "mira/a.git", target: undefined });
    await insertChore(tx, { kind: "follow", path: "mira", target: "vera" });
    await insertChore(tx, { kind: "remove", path: "other", target: undefined });
  });
  const found = await listChoresAt(db, ["mira/a.git", "mira"]);
  expect(found.map(({ kind, target }) => [kind, target])).toEqual([
    ["remove", undefined],
    ["follow", "vera"],
  ]);
});

test("labels and watches go with their repository", async () => {
  const { id } = await add("one");
  const label = { name: "bug", color: "ee0701", description: "", isExclusive: true };
  await db.transaction((tx) => insertLabels(tx, { repositoryId: id }, [label]));
  for (let round = 0; round < 2; round += 1)
    await insertWatch(db, { repositoryId: id, userId: owner, createdAt: 1 });
  expect(await listLabels(db, { repositoryId: id }, { limit: 10, offset: 0 })).toMatchObject([
    label,
  ]);
  expect(await listWatchers(db, id)).toEqual([owner]);
  expect(await countWatchers(db, [id, toRepositoryId(99)])).toEqual(new Map([[id, 1]]));
  await db.transaction((tx) => deleteRepository(tx, id));
  expect(await listLabels(db, { repositoryId: id }, { limit: 10, offset: 0 })).toEqual([]);
});

test("own repositories are paged by name", async () => {
  for (const name of ["c", "A", "b"]) await add(name, { isPrivate: name === "b" });
  const page = await listRepositoriesOfMember(db, owner, {
    limit: 2,
    offset: 0,
    isPublicOnly: false,
  });
  expect(page.repositories.map(({ name }) => name)).toEqual(["A", "b"]);
  expect(page.total).toBe(3);
  const open = await listRepositoriesOfMember(db, owner, {
    limit: 9,
    offset: 0,
    isPublicOnly: true,
  });
  expect(open.repositories.map(({ name }) => name)).toEqual(["A", "c"]);
});

test("a page anywhere in a long list has exactly its rows", async () => {
  for (let index = 0; index < 25; index += 1) await add(`r${String(index).padStart(2, "0")}`);
  for (const offset of [0, 7, 14, 20, 30]) {
    const page = await listRepositoriesOfMember(db, owner, {
      limit: 7,
      offset,
      isPublicOnly: false,
    });
    expect(page.repositories.map(({ name }) => Number(name.slice(1)))).toEqual(
      Array.from({ length: Math.max(0, Math.min(7, 25 - offset)) }, (_, index) => offset + index),
    );
  }
});

// Only one engine tells its plan in these words.
test.each([false, true])("a page (backwards: %s) needs no sort", async (isBackwards) => {
  const sqlite = await openTestDatabase({ engine: "sqlite" });
  try {
    const page = { isPublicOnly: false, isBackwards, limit: 7, offset: 3 };
    const { sql, values } = toOwnedStatement([owner, toUserId(owner + 1)], page);
    const plan = await sqlite.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    const details = plan.map(({ detail }) => detail);
    expect(details.filter((detail) => detail.includes("COVERING INDEX"))).toHaveLength(2);
    expect(details.filter((detail) => detail.includes("TEMP B-TREE"))).toEqual([]);
  } finally {
    await sqlite.close();
  }
});
