import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Database, isConflict } from "../../../../../storage/engine/database.ts";
import {
  deleteRepository,
  findRepositoryById,
  insertRepository,
  updateRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { listRepositoriesOfMember } from "../../../../../storage/tables/forge/repositories/lists.ts";
import {
  deletePush,
  insertPush,
  listPushes,
  releasePushes,
  renewPush,
} from "../../../../../storage/tables/forge/repositories/pushes.ts";
import {
  deleteRepositoryRedirect,
  findRepositoryRedirect,
  putRepositoryRedirect,
} from "../../../../../storage/tables/forge/repositories/redirects.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { type UserId, toRepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";

const missing = toRepositoryId(9_999);

describe.each(["sqlite", "postgres"] as const)("repositories that change, on %s", (engine) => {
  let db: Database;
  let ownerId: UserId;
  beforeAll(async () => {
    db = await openTestDatabase({ engine, clock: () => 1_000 });
    ownerId = (await db.transaction((tx) => insertUser(tx, newUserRow("mira")))).id;
  });
  afterAll(() => db.close());

  const add = (name: string) =>
    db.transaction((tx) =>
      insertRepository(tx, newRepositoryRow({ id: ownerId, name: "mira" }, name)),
    );

  test("a rename changes the lower-case name too, is unique, and returns whether the repository existed", async () => {
    const made = await add("One");
    await add("two");
    const changes = { name: "Three", description: "d", website: "w", isPrivate: true };
    expect(await updateRepository(db, made.id, changes)).toBe(true);
    expect(await findRepositoryById(db, made.id)).toMatchObject({ ...changes, lowerName: "three" });
    await expect(updateRepository(db, made.id, { name: "TWO" })).rejects.toSatisfy(isConflict);
    expect(await updateRepository(db, missing, { name: "x" })).toBe(false);
    expect(await updateRepository(db, made.id, {})).toBe(true);
    expect(await updateRepository(db, missing, {})).toBe(false);
  });

  test("a former name leads to the last that had it, and ends with the repository", async () => {
    const [first, second] = [await add("first"), await add("second")];
    for (const { id } of [first, second])
      await db.transaction((tx) =>
        putRepositoryRedirect(tx, { ownerId, name: "Former", repositoryId: id }),
      );
    expect(await findRepositoryRedirect(db, ownerId, "FORMER")).toBe(second.id);
    await db.transaction((tx) => deleteRepository(tx, second.id));
    expect(await findRepositoryRedirect(db, ownerId, "former")).toBeUndefined();
    const again = { ownerId, name: "former", repositoryId: first.id };
    await db.transaction((tx) => putRepositoryRedirect(tx, again));
    await db.transaction((tx) => deleteRepositoryRedirect(tx, ownerId, "FORMER"));
    expect(await findRepositoryRedirect(db, ownerId, "former")).toBeUndefined();
  });

  test("stores a push until it is published, and deletes it with its repository", async () => {
    const { id: repositoryId } = await add("pushed");
    const changes = [{ ref: "refs/heads/main", after: "a".repeat(40) }];
    const push = { repositoryId, pusherId: ownerId, changes, leasedUntil: 2_000 };
    const [one, two] = [
      await db.transaction((tx) => insertPush(tx, push)),
      await db.transaction((tx) => insertPush(tx, push)),
    ];
    await renewPush(db, one, 3_000);
    expect(await listPushes(db)).toEqual([
      { ...push, id: one, leasedUntil: 3_000, createdAt: 1_000 },
      { ...push, id: two, createdAt: 1_000 },
    ]);
    await releasePushes(db, 2_500);
    expect((await listPushes(db)).map(({ leasedUntil }) => leasedUntil)).toEqual([2_500, 2_000]);
    expect([await deletePush(db, one), await deletePush(db, one)]).toEqual([true, false]);
    await db.transaction((tx) => deleteRepository(tx, repositoryId));
    expect(await listPushes(db)).toEqual([]);
  });

  test("totals follow every change", async () => {
    const other = (await db.transaction((tx) => insertUser(tx, newUserRow("other")))).id;
    const count = async (id: UserId, isPublicOnly: boolean) =>
      (await listRepositoriesOfMember(db, id, { limit: 50, offset: 0, isPublicOnly })).total;
    const counts = async () => [await count(other, false), await count(other, true)];
    const made = await add("counted");
    await db.transaction((tx) => updateRepository(tx, made.id, { ownerId: other }));
    expect(await counts()).toEqual([1, 1]);
    await db.transaction((tx) => updateRepository(tx, made.id, { isPrivate: true }));
    await db.transaction((tx) => updateRepository(tx, made.id, { isPrivate: true }));
    expect(await counts()).toEqual([1, 0]);
    await db.transaction((tx) => updateRepository(tx, missing, { isPrivate: true }));
    await db.transaction((tx) => deleteRepository(tx, made.id));
    await db.transaction((tx) => deleteRepository(tx, made.id));
    expect(await counts()).toEqual([0, 0]);
  });

  test("a page from the end is in the same order as one from the beginning", async () => {
    for (const name of ["q1", "q2", "q3", "q4", "q5"]) await add(name);
    const all = await listRepositoriesOfMember(db, ownerId, {
      limit: 50,
      offset: 0,
      isPublicOnly: false,
    });
    for (let offset = 0; offset < all.total; offset += 2) {
      const page = await listRepositoriesOfMember(db, ownerId, {
        limit: 2,
        offset,
        isPublicOnly: false,
      });
      expect(page.repositories).toEqual(all.repositories.slice(offset, offset + 2));
    }
  });
});
