import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import { isObjectReferenced } from "../../../../../storage/tables/common/object-references.ts";
import {
  deletePackagesOf,
  deleteVersion,
  findFile,
  findPackage,
  findVersion,
  insertFile,
  insertVersion,
  openPackage,
  ownsPackage,
  touchPackage,
} from "../../../../../storage/tables/forge/packages/packages.ts";
import {
  listAllVersions,
  searchPackages,
  toPageStatement,
} from "../../../../../storage/tables/forge/packages/lists.ts";
import { deleteTag, listTags, setTag } from "../../../../../storage/tables/forge/packages/tags.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { newUserRow } from "../../../../support/forge/forge-rows.ts";
import type {
  UserId,
  PackageId,
  PackageVersionId,
} from "../../../../../storage/tables/forge/ids.ts";

const digests = { sha256: "a".repeat(64), sha512: "b", sha1: "c", md5: "d" };
describe.each(["sqlite", "postgres"] as const)("packages on %s", (engine) => {
  let db: Database;
  let ownerId: UserId;
  beforeAll(async () => {
    db = await openTestDatabase({ engine });
    ownerId = (await db.transaction((tx) => insertUser(tx, newUserRow("mira")))).id;
  });
  afterAll(() => db.close());

  test("a package, its versions, files and tags come and go together", async () => {
    const key = { ownerId, type: "npm", name: "Tool_1" };
    const made = await db.transaction(async (tx) => {
      const first = await openPackage(tx, key);
      const again = await openPackage(tx, { ...key, name: "tool_1" });
      expect(again).toEqual({ ...first, revision: 2 });
      const wanted = { version: "1.0.0-RC", creatorId: ownerId, metadata: "{}" };
      const version = await insertVersion(tx, first, wanted);
      expect(await insertVersion(tx, first, { ...wanted, version: "1.0.0-rc" })).toBeUndefined();
      if (version === undefined) throw new Error("no version");
      const file = { ...digests, versionId: version.id, name: "A", size: 1 };
      expect(await insertFile(tx, file)).toMatchObject({ name: "A" });
      expect(await insertFile(tx, { ...file, name: "a" })).toBeUndefined();
      await setTag(tx, first.id, "latest", version.id);
      await setTag(tx, first.id, "latest", version.id);
      return { package: first, version };
    });
    expect(await findVersion(db, made.package, "1.0.0-rc")).toEqual(made.version);
    expect(await findFile(db, made.version.id, "a")).toMatchObject(digests);
    expect(await listTags(db, made.package.id)).toEqual(new Map([["latest", "1.0.0-RC"]]));
    expect(await isObjectReferenced(db, digests.sha256)).toBe(true);
    expect(await ownsPackage(db, ownerId)).toBe(true);
    const window = { limit: 10, offset: 0 };
    for (const term of ["", "OL_", "tool"])
      expect((await listAllVersions(db, { type: "npm", term }, window)).total).toBe(1);
    expect(await listAllVersions(db, { type: "", term: "o%l" }, window)).toEqual({
      versions: [],
      total: 0,
    });
    const search = { ownerId, type: "npm", term: "OOL" };
    expect((await searchPackages(db, search, window)).packages).toMatchObject([{ name: "Tool_1" }]);

    await db.transaction(async (tx) => {
      expect(await touchPackage(tx, made.package.id)).toMatchObject({ revision: 3 });
      expect(await deleteTag(tx, made.package.id, "other")).toBe(false);
      await deleteVersion(tx, made.version);
    });
    expect(await findPackage(db, key)).toBeUndefined();
    expect(await isObjectReferenced(db, digests.sha256)).toBe(false);
    const later = await db.transaction((tx) => openPackage(tx, key));
    expect(later.id).toBeGreaterThan(made.version.id);
    await db.transaction((tx) => deletePackagesOf(tx, ownerId));
    expect(await ownsPackage(db, ownerId)).toBe(false);
    expect((await listAllVersions(db, { type: "", term: "" }, window)).total).toBe(0);
  });

  test("every page of a list equals that of a full sort, after any insertions and deletions", async () => {
    // Fewer where inserting takes long.
    const all = await fill(db, ownerId, engine === "sqlite" ? 1_300 : 80);
    const pages = [
      { limit: 50, offset: 0 },
      { limit: 7, offset: 30 },
      { limit: 7, offset: 300 },
      { limit: 50, offset: 640 },
      { limit: 50, offset: 1_270 },
      { limit: 50, offset: 5_000 },
    ];
    const check = async (filter: { type: string; term: string }) => {
      const wanted = all
        .filter(({ type, name }) =>
          filter.type === "" || type === filter.type ? name.includes(filter.term) : false,
        )
        .toSorted((one, other) => other.createdAt - one.createdAt || other.id - one.id)
        .map(({ id }) => id);
      for (const page of pages) {
        const found = await listAllVersions(db, filter, page);
        expect(found.total).toBe(wanted.length);
        expect(found.versions.map(({ id }) => id)).toEqual(
          wanted.slice(page.offset, page.offset + page.limit),
        );
      }
    };
    const filters = [
      { type: "", term: "" },
      { type: "npm", term: "" },
      { type: "", term: "tool-1" },
      { type: "generic", term: "l-7" },
      { type: "npm", term: "9" },
      { type: "nothing", term: "" },
    ];
    for (const filter of filters) await check(filter);
    const [gone] = all.splice(10, 1);
    if (gone === undefined) throw new Error("the version is missing");
    await db.transaction((tx) => deleteVersion(tx, gone));
    for (const filter of filters) await check(filter);
    await db.transaction((tx) => deletePackagesOf(tx, ownerId));
    all.length = 0;
    for (const filter of filters) await check(filter);
  });
});

/** Versions of packages of two types, with times that are not in the order of their ids. */
async function fill(db: Database, ownerId: UserId, count: number) {
  return db.transaction(async (tx) => {
    const made: {
      id: PackageVersionId;
      packageId: PackageId;
      type: string;
      name: string;
      createdAt: number;
    }[] = [];
    for (let index = 0; index < count; index += 1) {
      const type = index % 3 === 0 ? "generic" : "npm";
      const opened = await openPackage(tx, {
        ownerId,
        type,
        name: `Tool-${Math.floor(index / 4)}`,
      });
      const wanted = { version: `1.0.${index}`, creatorId: ownerId, metadata: "{}" };
      const version = await insertVersion(tx, opened, wanted);
      if (version === undefined) throw new Error("no version");
      const createdAt = (index * 7_919) % 1_000;
      await tx.run(
        "UPDATE forge_package_versions SET created_at = ? WHERE id = ?",
        createdAt,
        version.id,
      );
      made.push({
        id: version.id,
        packageId: opened.id,
        type,
        name: opened.name.toLowerCase(),
        createdAt,
      });
    }
    return made;
  });
}

describe("how SQLite reads a page of versions", () => {
  test.each(["", "npm"])(
    "a page of type %j comes from a covering index without a sort",
    async (type) => {
      const db = await openTestDatabase({ engine: "sqlite" });
      const page = toPageStatement("sqlite", { type, term: "" }, { limit: 50, offset: 1_000 });
      const plan = await db.all<{ detail: string }>(
        `EXPLAIN QUERY PLAN ${page.sql}`,
        ...page.values,
      );
      const details = plan.map(({ detail }) => detail);
      expect(details.join("\n")).toMatch(
        /forge_package_versions USING COVERING INDEX forge_package_versions_(?:newest|type)/,
      );
      expect(details.filter((detail) => detail.includes("TEMP B-TREE"))).toEqual([]);
      await db.close();
    },
  );

  test("a term of three letters is looked up, not searched for", async () => {
    const db = await openTestDatabase({ engine: "sqlite" });
    const order = { type: "npm", term: "abc" };
    const { sql, values } = toPageStatement("sqlite", order, { limit: 50, offset: 0 });
    const plan = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    const details = plan.map(({ detail }) => detail).join("\n");
    expect(details).toMatch(/forge_package_grams VIRTUAL TABLE INDEX 0:M/);
    expect(details).toMatch(/SEARCH forge_package_versions USING INDEX \S+ \(package_id=\?\)/);
    await db.close();
  });
});
