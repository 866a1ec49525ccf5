import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import {
  deletePackagesOf,
  deleteVersion,
  findFile,
  findPackage,
  findVersion,
  insertFile,
  insertVersion,
  isObjectInUse,
  openPackage,
  ownsPackage,
  touchPackage,
} from "../../../../../storage/tables/forge/packages.ts";
import {
  listAllVersions,
  searchPackages,
} from "../../../../../storage/tables/forge/packages-lists.ts";
import { deleteTag, listTags, setTag } from "../../../../../storage/tables/forge/packages-tags.ts";
import { insertUser } from "../../../../../storage/tables/forge/users.ts";
import { openTestDatabase } from "../../../../support/database.ts";

const digests = { sha256: "a".repeat(64), sha512: "b", sha1: "c", md5: "d" };
const person = {
  kind: "individual",
  name: "mira",
  fullName: "",
  email: "mira@example.org",
  keepEmailPrivate: false,
  loginSource: 0,
  loginName: "",
  passwordHash: "",
  mustChangePassword: false,
  isActive: true,
  isAdmin: false,
  isRestricted: false,
  prohibitLogin: false,
  twoFactorEnabled: false,
  allowGitHook: false,
  allowImportLocal: false,
  allowCreateOrganization: false,
  maxRepoCreation: -1,
  visibility: "public",
  website: "",
  location: "",
  description: "",
  language: "",
  avatarHash: "",
  repoAdminChangeTeamAccess: false,
  createdAt: 0,
  updatedAt: 0,
} as const;

describe.each(["sqlite", "postgres"] as const)("packages on %s", (engine) => {
  let db: Database;
  let ownerId: number;
  beforeAll(async () => {
    db = await openTestDatabase({ engine });
    ownerId = (await db.transaction((tx) => insertUser(tx, person))).id;
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
    expect(await findVersion(db, made.package.id, "1.0.0-rc")).toEqual(made.version);
    expect(await findFile(db, made.version.id, "a")).toMatchObject(digests);
    expect(await listTags(db, made.package.id)).toEqual(new Map([["latest", "1.0.0-RC"]]));
    expect(await isObjectInUse(db, digests.sha256)).toBe(true);
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
    expect(await isObjectInUse(db, digests.sha256)).toBe(false);
    const later = await db.transaction((tx) => openPackage(tx, key));
    expect(later.id).toBeGreaterThan(made.version.id);
    await db.transaction((tx) => deletePackagesOf(tx, ownerId));
    expect(await ownsPackage(db, ownerId)).toBe(false);
  });
});
