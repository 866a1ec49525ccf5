import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import { searchPeople } from "../../../../../storage/tables/forge/accounts/people-search.ts";
import { type ForgeUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  type IssueId,
  type RepositoryId,
  toUserId,
} from "../../../../../storage/tables/forge/ids.ts";
import {
  countDependencies,
  deleteDependency,
  dependsOn,
  hasOpenBlocker,
  insertDependency,
  listDependencies,
} from "../../../../../storage/tables/forge/issues/dependencies.ts";
import {
  deleteIssue,
  insertIssue,
  updateIssue,
} from "../../../../../storage/tables/forge/issues/issues.ts";
import {
  deleteTrackedTimesOf,
  findStopwatch,
  insertStopwatch,
  insertTrackedTime,
  listTrackedTimes,
} from "../../../../../storage/tables/forge/issues/tracked-times.ts";
import { listAllVersions } from "../../../../../storage/tables/forge/packages/lists.ts";
import {
  insertVersion,
  openPackage,
} from "../../../../../storage/tables/forge/packages/packages.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const window = { limit: 10, offset: 0 };

describe.each(["sqlite", "postgres"] as const)("work on issues, on %s", (engine) => {
  let db: Database;
  let mira: ForgeUser;
  let repositoryId: RepositoryId;
  beforeAll(async () => {
    db = await openTestDatabase({ engine });
    mira = await db.transaction((tx) =>
      insertUser(tx, newUserRow("mira", { fullName: "Mira M." })),
    );
    const row = newRepositoryRow(mira, "notes", {});
    repositoryId = (await db.transaction((tx) => insertRepository(tx, row))).id;
  });
  afterAll(() => db.close());

  const addIssue = () =>
    db.transaction((tx) =>
      insertIssue(tx, {
        repositoryId,
        authorId: mira.id,
        title: "Torn",
        body: "",
        ref: "",
        isClosed: false,
        dueAt: undefined,
      }),
    );

  test("dependencies are found over several issues, from both sides, and go with an issue", async () => {
    const [a, b, c] = [await addIssue(), await addIssue(), await addIssue()];
    const add = (issueId: IssueId, blockerId: IssueId) =>
      db.transaction((tx) => insertDependency(tx, { issueId, blockerId }));
    expect(await add(a.id, b.id)).toBe(true);
    expect(await add(a.id, b.id)).toBe(false);
    expect(await add(b.id, c.id)).toBe(true);
    expect(await dependsOn(db, { issueId: a.id, blockerId: c.id })).toBe(true);
    expect(await dependsOn(db, { issueId: c.id, blockerId: a.id })).toBe(false);
    expect((await listDependencies(db, a.id, "blockers")).map(({ id }) => id)).toEqual([b.id]);
    expect((await listDependencies(db, c.id, "blocked")).map(({ id }) => id)).toEqual([b.id]);
    expect(await countDependencies(db, b.id)).toBe(2);
    expect(await hasOpenBlocker(db, b.id)).toBe(true);
    await db.transaction((tx) => updateIssue(tx, c.id, { isClosed: true }));
    expect(await hasOpenBlocker(db, b.id)).toBe(false);
    expect(
      await db.transaction((tx) => deleteDependency(tx, { issueId: a.id, blockerId: c.id })),
    ).toBe(false);
    await db.transaction((tx) => deleteIssue(tx, b));
    expect(await countDependencies(db, a.id)).toBe(0);
  });

  test("time is listed by its filters, summed when it is deleted, and one stopwatch runs", async () => {
    const issue = await addIssue();
    for (const [seconds, createdAt] of [
      [60, 1_000],
      [30, 2_000],
    ] as const)
      await db.transaction((tx) =>
        insertTrackedTime(tx, { issueId: issue.id, userId: mira.id, seconds, createdAt }),
      );
    const inRange = { repositoryId, userId: mira.id, since: 1_500, before: 2_000 };
    expect(await listTrackedTimes(db, inRange, window)).toMatchObject({
      total: 1,
      times: [{ seconds: 30 }],
    });
    const sum = await db.transaction((tx) => deleteTrackedTimesOf(tx, issue.id, mira.id));
    expect(sum).toBe(90);
    expect(await db.transaction((tx) => deleteTrackedTimesOf(tx, issue.id, mira.id))).toBe(
      undefined,
    );
    const nothing = { issueId: issue.id, userId: mira.id, seconds: 0, createdAt: 1_000 };
    await db.transaction((tx) => insertTrackedTime(tx, nothing));
    expect(await db.transaction((tx) => deleteTrackedTimesOf(tx, issue.id, mira.id))).toBe(0);
    const start = () =>
      db.transaction((tx) => insertStopwatch(tx, { userId: mira.id, issueId: issue.id }));
    await start();
    await expect(start()).rejects.toMatchObject({ code: "conflict" });
    await db.transaction((tx) => deleteIssue(tx, issue));
    expect(await findStopwatch(db, mira.id)).toBeUndefined();
  });

  test("people are found by name, not by a hidden address", async () => {
    const hidden = newUserRow("nora", { email: "nn@example.org", keepEmailPrivate: true });
    const nora = await db.transaction((tx) => insertUser(tx, hidden));
    const find = async (term: string, viewer: ForgeUser | undefined) => {
      const search = { term, id: toUserId(0), viewer, isPublicOnly: false };
      return (await searchPeople(db, search, window)).users.map(({ name }) => name);
    };
    expect(await find("ora", undefined)).toEqual(["nora"]);
    expect(await find("IRA M", mira)).toEqual(["mira"]);
    expect(await find("nn@exa", mira)).toEqual([]);
    expect(await find("nn@exa", nora)).toEqual(["nora"]);
    expect(await find("", mira)).toEqual(["mira", "nora"]);
  });

  test("versions are listed by owner and by package", async () => {
    await db.transaction(async (tx) => {
      for (const name of ["box", "lid"]) {
        const opened = await openPackage(tx, { ownerId: mira.id, type: "generic", name });
        await insertVersion(tx, opened, { version: "1", creatorId: mira.id, metadata: "" });
      }
    });
    const filter = { type: "", term: "" };
    const all = await listAllVersions(db, { ...filter, ownerId: mira.id }, window);
    expect(all.total).toBe(2);
    const packageId = all.versions[0]?.package.id;
    if (packageId === undefined) throw new Error("the version is missing");
    expect((await listAllVersions(db, { ...filter, packageId }, window)).total).toBe(1);
    expect(
      (await listAllVersions(db, { ...filter, ownerId: toUserId(mira.id + 999) }, window)).total,
    ).toBe(0);
  });
});
