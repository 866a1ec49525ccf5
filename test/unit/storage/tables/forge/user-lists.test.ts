import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createKeysetCursors } from "../../../../../storage/tables/forge/accounts/keyset-cursors.ts";
import { selectFacets } from "../../../../../storage/tables/forge/accounts/user-facets.ts";
import {
  listUsers,
  toPageStatement,
  type UserListQuery,
} from "../../../../../storage/tables/forge/accounts/user-lists.ts";
import {
  deleteUser,
  findUserByName,
  type ForgeUser,
  insertUser,
  type NewForgeUser,
  updateUser,
} from "../../../../../storage/tables/forge/accounts/users.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { newUserRow } from "../../../../support/forge/forge-rows.ts";
import { cases } from "../../../../support/property.ts";
import { toUserId } from "../../../../../storage/tables/forge/ids.ts";

const USERS = 3000;

const everything: UserListQuery = {
  kind: "individual",
  term: "",
  loginName: "",
  sort: "name",
  descending: false,
};

/** The nth account: names, times and states are spread so that no order follows another. */
function makeUser(index: number): NewForgeUser {
  const number = String((index * 7919) % 100_003).padStart(6, "0");
  return newUserRow(`${index % 2 === 0 ? "User" : "user"}${number}`, {
    kind: index % 11 === 0 ? "organization" : "individual",
    fullName: `Öland ${index}`,
    email: `user${index}@example.org`,
    loginSource: index % 100 === 0 ? 2 : 0,
    loginName: index % 50 === 0 ? "ldap" : "",
    isActive: index % 10 !== 0,
    isAdmin: index % 500 === 1,
    isRestricted: index % 40 === 0,
    prohibitLogin: index % 97 === 0,
    twoFactorEnabled: index % 3 === 0,
    visibility: (["public", "public", "limited", "private"] as const)[index % 4] ?? "public",
    avatarHash: "0".repeat(32),
    createdAt: (index * 104_729) % 997,
    updatedAt: (index * 611_953) % 100_003,
  });
}

describe("lists of accounts", () => {
  let db: Database;
  let users: ForgeUser[];
  beforeAll(async () => {
    db = await openTestDatabase();
    users = await db.transaction(async (tx) => {
      const inserted: ForgeUser[] = [];
      for (let index = 1; index <= USERS; index += 1)
        inserted.push(await insertUser(tx, makeUser(index)));
      return inserted;
    });
    // Half a second on SQLite; the embedded PostgreSQL takes its time.
  });
  afterAll(() => db.close());

  const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
  const queries = fc.record({
    kind: fc.constantFrom("individual" as const, "organization" as const),
    term: fc.constantFrom("", "", "", "öLAND 12", "77", "USER00", "e_77", '"', "\\", "zzz"),
    loginName: fc.constantFrom("", "", "", "ldap", "LDAP"),
    sort: fc.constantFrom("name" as const, "created" as const, "updated" as const, "id" as const),
    descending: fc.boolean(),
    visibility: maybe(fc.constantFrom("public" as const, "limited" as const, "private" as const)),
    isActive: maybe(fc.boolean()),
    isAdmin: maybe(fc.boolean()),
    isRestricted: maybe(fc.boolean()),
    prohibitLogin: maybe(fc.boolean()),
    twoFactorEnabled: maybe(fc.boolean()),
    loginSource: maybe(fc.constantFrom(0, 2, 7)),
  });

  /** The same list by brute force. */
  function expected(query: UserListQuery): number[] {
    const pattern = new RegExp(
      query.term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/_/g, "[^]"),
      "iu",
    );
    const fits = <K extends keyof ForgeUser>(
      user: ForgeUser,
      member: K,
      wanted: ForgeUser[K] | undefined,
    ) => wanted === undefined || user[member] === wanted;
    const value = (user: ForgeUser) =>
      ({ name: user.name, created: user.createdAt, updated: user.updatedAt, id: user.id })[
        query.sort
      ];
    return users
      .filter(
        (user) =>
          user.kind === query.kind &&
          fits(user, "visibility", query.visibility) &&
          fits(user, "isActive", query.isActive) &&
          fits(user, "isAdmin", query.isAdmin) &&
          fits(user, "isRestricted", query.isRestricted) &&
          fits(user, "prohibitLogin", query.prohibitLogin) &&
          fits(user, "twoFactorEnabled", query.twoFactorEnabled) &&
          fits(user, "loginSource", query.loginSource) &&
          (query.loginName === "" || user.loginName === query.loginName) &&
          [`${user.name}\n${user.fullName}`, user.email].some((text) => pattern.test(text)),
      )
      .sort((one, other) => {
        const [a, b] = [value(one), value(other)];
        const order = a < b ? -1 : a > b ? 1 : one.id - other.id;
        return query.descending ? -order : order;
      })
      .map(({ id }) => id);
  }

  test("any filter, order and page equals the result of a full scan", async () => {
    const cursors = createKeysetCursors();
    await fc.assert(
      fc.asyncProperty(
        queries,
        fc.nat(USERS),
        fc.integer({ min: 1, max: 50 }),
        async (query, offset, limit) => {
          const page = await listUsers(db, query, { limit, offset }, cursors);
          const all = expected(query);
          expect(page.total).toBe(all.length);
          expect(page.users.map(({ id }) => id)).toEqual(all.slice(offset, offset + limit));
        },
      ),
      cases(150),
    );
  });

  test("all pages together are the list, in either direction", async () => {
    for (const descending of [false, true]) {
      const query: UserListQuery = { ...everything, sort: "created", descending };
      const cursors = createKeysetCursors();
      const found: number[] = [];
      for (let offset = 0; ; offset += 50) {
        const { users: page } = await listUsers(db, query, { limit: 50, offset }, cursors);
        if (page.length === 0) break;
        found.push(...page.map(({ id }) => id));
      }
      expect(found).toEqual(expected(query));
    }
  });
});

describe("lists of accounts that change", () => {
  const add = (db: Database, count: number) =>
    db.transaction(async (tx) => {
      for (let index = 1; index <= count; index += 1)
        await insertUser(tx, { ...makeUser(index), kind: "individual" });
    });

  test("cached cursors are invalidated by a change", async () => {
    await using db = disposable(await openTestDatabase());
    await add(db, 2500);
    const cursors = createKeysetCursors();
    const read = (offset: number) => listUsers(db, everything, { limit: 1, offset }, cursors);
    const before = (await read(1100)).users[0];
    await db.transaction((tx) =>
      insertUser(tx, { ...makeUser(9), name: "AAA", kind: "individual" }),
    );
    expect((await read(1101)).users[0]).toEqual(before);
    const first = await findUserByName(db, "aaa");
    await db.transaction(async (tx) => first && deleteUser(tx, first));
    expect((await read(1100)).users[0]).toEqual(before);
  });

  test("totals and searches follow changes and deletions", async () => {
    await using db = disposable(await openTestDatabase());
    await add(db, 20);
    const count = async (query: Partial<UserListQuery>) =>
      (
        await listUsers(
          db,
          { ...everything, ...query },
          { limit: 1, offset: 0 },
          createKeysetCursors(),
        )
      ).total;
    const [user] = (await listUsers(db, everything, { limit: 1, offset: 0 }, createKeysetCursors()))
      .users;
    if (user === undefined) throw new Error("no user");
    expect(await count({ term: "renamed" })).toBe(0);
    const changed = await db.transaction((tx) =>
      updateUser(tx, user, { name: "Renamed", isActive: false, visibility: "private" }),
    );
    expect(await count({ term: "renamed" })).toBe(1);
    expect(await count({ term: user.name })).toBe(0);
    const inactive = await count({ isActive: false });
    await db.transaction((tx) => deleteUser(tx, changed));
    expect(await count({ term: "renamed" })).toBe(0);
    expect(await count({ isActive: false })).toBe(inactive - 1);
    expect(await count({})).toBe(19);
  });

  test("an id is never used twice", async () => {
    await using db = disposable(await openTestDatabase());
    await add(db, 3);
    const last = await db.transaction((tx) =>
      insertUser(tx, { ...makeUser(4), kind: "individual" }),
    );
    await db.transaction((tx) => deleteUser(tx, last));
    const next = await db.transaction((tx) =>
      insertUser(tx, { ...makeUser(5), kind: "individual" }),
    );
    expect(next.id).toBe(last.id + 1);
  });
});

describe("how SQLite reads a page", () => {
  const filters: Partial<UserListQuery>[] = [
    {},
    { isActive: true },
    { isRestricted: true },
    { visibility: "private", twoFactorEnabled: true },
  ];
  const cases = filters.flatMap((filter) =>
    (["name", "created", "updated", "id"] as const).map((sort) => ({
      ...everything,
      ...filter,
      sort,
    })),
  );

  test.each(cases)("%j uses a covering index and no sort", async (query) => {
    await using db = disposable(await openTestDatabase({ engine: "sqlite" }));
    await db.transaction(async (tx) => {
      for (let index = 1; index <= 200; index += 1) await insertUser(tx, makeUser(index));
    });
    const selection = await selectFacets(db, query);
    for (const mark of [undefined, { value: query.sort === "name" ? "m" : 5, id: toUserId(5) }]) {
      const { sql, values } = toPageStatement(
        "sqlite",
        query,
        selection,
        { limit: 50, offset: 0 },
        mark,
      );
      const plan = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
      const details = plan.map(({ detail }) => detail);
      for (const detail of details.filter((each) => each.includes("forge_users")))
        expect(detail).toMatch(/^SEARCH forge_users USING COVERING INDEX/);
      expect(details.filter((detail) => detail.includes("SCAN"))).toEqual(["SCAN page"]);
      expect(details.filter((detail) => detail.includes("TEMP B-TREE"))).toEqual([]);
    }
  });

  test("a term of three letters is looked up, not searched for", async () => {
    await using db = disposable(await openTestDatabase({ engine: "sqlite" }));
    await db.transaction((tx) => insertUser(tx, { ...makeUser(1), kind: "individual" }));
    const query = { ...everything, term: "abc" };
    const selection = await selectFacets(db, query);
    const { sql, values } = toPageStatement("sqlite", query, selection, { limit: 50, offset: 0 });
    const plan = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    const details = plan.map(({ detail }) => detail).join("\n");
    expect(details).toContain("SEARCH forge_users USING INTEGER PRIMARY KEY");
    expect(details).toMatch(/forge_user_grams VIRTUAL TABLE INDEX 0:M/);
  });
});

function disposable<T extends Database>(db: T): T & AsyncDisposable {
  return Object.assign(db, { [Symbol.asyncDispose]: () => db.close() });
}
