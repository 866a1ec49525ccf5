import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createReleaseNotes } from "../../../../../daemon/forge/releases/notes.service.ts";
import { repository as permissionOn } from "../../../../../daemon/contract/permission.ts";
import { grantRepository } from "../../../../../daemon/forge/repositories/open-repository.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { type ForgeUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertIssue, updateIssue } from "../../../../../storage/tables/forge/issues/issues.ts";
import { insertPull, updatePull } from "../../../../../storage/tables/forge/pulls/pulls.ts";
import {
  deleteRelease,
  findLatestRelease,
  insertRelease,
  turnIntoDrafts,
  updateRelease,
} from "../../../../../storage/tables/forge/releases/releases.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

describe.each(["sqlite", "postgres"] as const)("releases, on %s", (engine) => {
  let db: Database;
  let mira: ForgeUser;
  let repository: ForgeRepository;
  let time = 1_000;
  beforeAll(async () => {
    db = await openTestDatabase({ engine, clock: () => time });
    mira = await db.transaction((tx) => insertUser(tx, newUserRow("mira", {})));
    const row = newRepositoryRow(mira, "kiln", {});
    repository = await db.transaction((tx) => insertRepository(tx, row));
  });
  afterAll(() => db.close());

  const release = (tagName: string, fields: { isDraft?: boolean; isPrerelease?: boolean } = {}) =>
    db.transaction((tx) =>
      insertRelease(tx, {
        repositoryId: repository.id,
        tagName,
        target: "main",
        title: "",
        body: "",
        isDraft: false,
        isPrerelease: false,
        authorId: mira.id,
        ...fields,
      }),
    );
  const count = async () => (await findRepositoryById(db, repository.id))?.releaseCount;

  test("the count of a repository is that of its releases without drafts, and the latest is the one published last", async () => {
    const first = await release("v1");
    time += 1_000;
    const draft = await release("v2", { isDraft: true });
    time += 1_000;
    const third = await release("v3");
    await release("v4", { isPrerelease: true });
    expect(await count()).toBe(3);
    expect((await findLatestRelease(db, repository.id))?.tagName).toBe("v3");
    time += 1_000;
    const published = await db.transaction((tx) => updateRelease(tx, draft, { isDraft: false }));
    expect(published?.publishedAt).toBe(time);
    expect((await findLatestRelease(db, repository.id))?.tagName).toBe("v2");
    expect(await count()).toBe(4);
    await db.transaction((tx) => turnIntoDrafts(tx, repository.id, ["v2", "none"]));
    expect(await count()).toBe(3);
    await db.transaction((tx) => deleteRelease(tx, third));
    await db.transaction((tx) => deleteRelease(tx, third));
    expect(await count()).toBe(2);
    expect((await findLatestRelease(db, repository.id))?.id).toBe(first.id);
    await expect(release("v1")).rejects.toMatchObject({
      code: "conflict",
      constraint: expect.stringContaining("tag_name"),
    });
  });

  test("notes list the issues closed and the pull requests merged since the release before", async () => {
    const close = async (title: string, pull?: "merged" | "rejected") => {
      time += 1_000;
      await db.transaction(async (tx) => {
        const issue = await insertIssue(tx, {
          repositoryId: repository.id,
          authorId: mira.id,
          title,
          body: "",
          ref: "",
          isClosed: false,
          dueAt: undefined,
          isPull: pull !== undefined,
        });
        await updateIssue(tx, issue.id, { isClosed: true, closedAt: tx.now });
        if (pull === undefined) return;
        await insertPull(tx, {
          issueId: issue.id,
          repositoryId: repository.id,
          baseBranch: "main",
          headRepositoryId: repository.id,
          headBranch: title,
          headCommit: "",
          baseCommit: "",
          allowsMaintainerEdit: false,
        });
        if (pull === "merged") await updatePull(tx, issue.id, { mergedAt: tx.now });
      });
    };
    await close("Before");
    time += 1_000;
    await release("n1");
    await close("Leaks");
    await close("Bricks", "merged");
    await close("Straw", "rejected");
    time += 1_000;
    const owned = { repository, owner: mira };
    const caller = { user: mira, actor: mira, method: "token", scope: undefined } as const;
    const permission = permissionOn("releases", "write");
    const grant = { caller, permission, isChange: true };
    const opened = await grantRepository(db, owned, grant);
    const notes = createReleaseNotes({ db, clock: () => time });
    const numbers = async (tag: string, previous?: string) =>
      (await notes.generate(opened, tag, previous)).body.split("\n").filter((line) => line !== "");
    expect(await numbers("n2")).toEqual([
      "## What's changed since n1",
      "- Leaks (#2)",
      "- Bricks (#3)",
    ]);
    expect(await numbers("n2", "v1")).toHaveLength(4);
    await expect(notes.generate(opened, "n2", "none")).rejects.toMatchObject({
      code: "unprocessable",
    });
    const settings = { has_issues: false };
    const withoutIssues = await grantRepository(
      db,
      { owner: mira, repository: { ...repository, settings } },
      grant,
    );
    expect((await notes.generate(withoutIssues, "n2", undefined)).body).not.toContain("Leaks");
  });
});
