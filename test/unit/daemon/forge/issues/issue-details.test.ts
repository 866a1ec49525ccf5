import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadAllIssueDetails } from "../../../../../daemon/forge/issues/issue-details.ts";
import type { Database, Queries } from "../../../../../storage/engine/database.ts";
import { type ForgeUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertAttachment } from "../../../../../storage/tables/forge/issues/attachments.ts";
import { insertIssueLabels } from "../../../../../storage/tables/forge/issues/issue-labels.ts";
import {
  type ForgeIssue,
  insertIssue,
  replaceAssignees,
} from "../../../../../storage/tables/forge/issues/issues.ts";
import { insertLabels } from "../../../../../storage/tables/forge/repositories/labels.ts";
import {
  type ForgeRepository,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const COUNT = 120;

describe.each(["sqlite", "postgres"] as const)("details of a list of issues, on %s", (engine) => {
  let db: Database;
  let owner: ForgeUser;
  let repository: ForgeRepository;
  const issues: ForgeIssue[] = [];

  beforeAll(async () => {
    db = await openTestDatabase({ engine });
    await db.transaction(async (tx) => {
      owner = await insertUser(tx, newUserRow("mira"));
      const nora = await insertUser(tx, newUserRow("nora"));
      repository = await insertRepository(tx, newRepositoryRow(owner, "hut"));
      const labels = await insertLabels(tx, { repositoryId: repository.id }, [
        newLabel("b"),
        newLabel("a"),
      ]);
      const labelIds = labels.map(({ id }) => id);
      for (let at = 0; at < COUNT; at += 1) {
        const issue = await insertIssue(tx, newIssue(at));
        issues.push(issue);
        await insertIssueLabels(tx, issue.id, labelIds.slice(0, at % 3));
        await replaceAssignees(tx, issue.id, at % 2 === 0 ? [] : [nora.id, owner.id]);
        if (at % 5 === 0) await insertAttachment(tx, newAttachment(issue, `${at}.txt`));
      }
    });
  });
  afterAll(() => db.close());

  const newLabel = (name: string) => ({
    name,
    color: "aabbcc",
    description: "",
    isExclusive: false,
  });
  const newIssue = (at: number) => ({
    repositoryId: repository.id,
    authorId: owner.id,
    title: `Issue ${at}`,
    body: "",
    ref: "",
    isClosed: false,
    dueAt: undefined,
  });
  const newAttachment = (issue: ForgeIssue, name: string) => ({
    uuid: name,
    issueId: issue.id,
    commentId: undefined,
    uploaderId: owner.id,
    name,
    sha256: "0".repeat(64),
    size: 1,
    contentType: "text/plain",
  });
  const load = async (count: number) => {
    let statements = 0;
    const counting = new Proxy(db as Queries, {
      get: (target, name) => {
        if (name === "get" || name === "all") statements += 1;
        return Reflect.get(target, name);
      },
    });
    const all = issues.slice(0, count).map((issue) => ({ owned: { repository, owner }, issue }));
    return { details: await loadAllIssueDetails(counting, all, undefined), statements };
  };

  test("each issue has its own records, in their order", async () => {
    const { details } = await load(COUNT);
    expect(details).toHaveLength(COUNT);
    for (const [at, { issue, labels, assigneeIds, attachments, people }] of details.entries()) {
      expect(issue.title).toBe(`Issue ${at}`);
      expect(labels.map(({ name }) => name)).toEqual([[], ["b"], ["a", "b"]][at % 3]);
      expect(assigneeIds).toEqual(at % 2 === 0 ? [] : [...assigneeIds].toSorted((a, b) => a - b));
      expect(assigneeIds.map((id) => people.get(id)?.name).toSorted()).toEqual(
        at % 2 === 0 ? [] : ["mira", "nora"],
      );
      expect(attachments.map(({ name }) => name)).toEqual(at % 5 === 0 ? [`${at}.txt`] : []);
    }
  });

  test("a page of issues takes as many statements as one", async () => {
    expect((await load(50)).statements).toBe((await load(2)).statements);
    expect((await load(1)).statements).toBeLessThanOrEqual((await load(50)).statements);
  });
});
