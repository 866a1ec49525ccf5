import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import { isConflict } from "../../../../../storage/engine/database.ts";
import {
  findLastOutcome,
  insertCommitStatus,
  listCommitStatuses,
  listLatestStatuses,
} from "../../../../../storage/tables/forge/repositories/statuses.ts";
import {
  insertComment,
  listComments,
} from "../../../../../storage/tables/forge/issues/comments.ts";
import {
  insertIssue,
  insertMentions,
  replaceAssignees,
  updateIssue,
} from "../../../../../storage/tables/forge/issues/issues.ts";
import { insertIssueLabels } from "../../../../../storage/tables/forge/issues/issue-labels.ts";
import {
  type IssueFilter,
  listIssues,
  listLabelIds,
} from "../../../../../storage/tables/forge/issues/lists.ts";
import {
  insertReview,
  insertReviewRequest,
} from "../../../../../storage/tables/forge/pulls/reviews.ts";
import { insertOwnersTeam } from "../../../../../storage/tables/forge/accounts/orgs.ts";
import {
  deleteRepository,
  findRepositoryById,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { insertLabels } from "../../../../../storage/tables/forge/repositories/labels.ts";
import {
  countRepositoriesOf,
  deleteTransfer,
  findTransfer,
  insertTransfer,
  isOfferedTo,
  listRepositoryMakers,
} from "../../../../../storage/tables/forge/repositories/transfers.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import type { UserId, RepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";

const START = 1_800_000_000_000;

describe.each(["sqlite", "postgres"] as const)(
  "repositories and the activities in them, on %s",
  (engine) => {
    let db: Database;
    let now = START;
    let mira: UserId;
    let nora: UserId;
    let repositories = 0;

    beforeAll(async () => {
      db = await openTestDatabase({ engine, clock: () => now });
      mira = (await db.transaction((tx) => insertUser(tx, newUserRow("mira")))).id;
      nora = (await db.transaction((tx) => insertUser(tx, newUserRow("nora")))).id;
    });
    afterAll(() => db.close());

    function addRepository(): Promise<RepositoryId> {
      const name = `r${(repositories += 1)}`;
      return db.transaction(async (tx) => {
        const repository = await insertRepository(
          tx,
          newRepositoryRow({ id: mira, name: "mira" }, name),
        );
        return repository.id;
      });
    }

    const open = (repositoryId: RepositoryId, title: string, body = "", isClosed = false) =>
      db.transaction((tx) =>
        insertIssue(tx, {
          repositoryId,
          authorId: mira,
          title,
          body,
          ref: "",
          isClosed,
          dueAt: undefined,
        }),
      );

    test("issues are found by every filter", async () => {
      const repositoryId = await addRepository();
      await db.transaction((tx) =>
        insertLabels(tx, { repositoryId }, [
          { name: "bug", color: "ff0000", description: "", isExclusive: false },
          { name: "low", color: "00ff00", description: "", isExclusive: false },
        ]),
      );
      const labelIds = await listLabelIds(db, repositoryId, ["low", "bug", "none"]);
      expect(labelIds).toHaveLength(2);
      expect(await listLabelIds(db, repositoryId, [])).toEqual([]);
      const first = await open(repositoryId, "Éclair", "100% of_it");
      now += 1000;
      const second = await open(repositoryId, "Broken GATE", String.raw`a\b`);
      const third = await open(repositoryId, "done", "", true);
      await db.transaction(async (tx) => {
        await insertIssueLabels(tx, first.id, labelIds.flat());
        await insertIssueLabels(tx, second.id, labelIds.flat().slice(0, 1));
        await replaceAssignees(tx, second.id, [nora, nora]);
        await insertMentions(tx, first.id, [nora]);
        await insertMentions(tx, first.id, [nora, mira]);
      });
      const find = async (filter: Partial<IssueFilter>) => {
        const all = {
          within: { repositoryId },
          state: "all",
          term: "",
          labelIds: [],
          ...filter,
        } as const;
        const { issues, total } = await listIssues(db, all, { limit: 10, offset: 0 });
        expect(total).toBe(issues.length);
        return issues.map(({ number }) => number);
      };
      expect(await find({})).toEqual([third.number, second.number, first.number]);
      const pageOf = async (window: Parameters<typeof listIssues>[2]) => {
        const filter = { within: { repositoryId }, state: "all", term: "", labelIds: [] } as const;
        const { issues, total } = await listIssues(db, filter, window);
        return [total, issues.map(({ number }) => number)];
      };
      expect(await pageOf({ limit: 1, offset: 1 })).toEqual([3, [2]]);
      const order = "oldest";
      expect(await pageOf({ limit: 2, offset: 1, order, firstRepositoryId: repositoryId })).toEqual(
        [3, [2, 3]],
      );
      expect(await pageOf({ limit: 2, offset: 3 })).toEqual([3, []]);
      expect(await find({ state: "open" })).toEqual([2, 1]);
      expect(await find({ labelIds })).toEqual([1]);
      expect(await find({ labelIds: labelIds.slice(0, 1) })).toEqual([2, 1]);
      expect(await find({ assigneeId: nora })).toEqual([2]);
      expect(await find({ mentionedId: nora })).toEqual([1]);
      expect(await find({ authorId: nora })).toEqual([]);
      expect(await find({ since: now })).toEqual([3, 2]);
      expect(await find({ before: now - 1 })).toEqual([1]);
      for (const [term, numbers] of [
        ["Éclair", [1]],
        ["gate", [2]],
        ["GATE", [2]],
        ["0%", [1]],
        ["f_i", [1]],
        ["fxi", []],
        [String.raw`a\b`, [2]],
      ] as const)
        expect([term, await find({ term })]).toEqual([term, numbers]);
    });

    test("a list finds the pull requests that a person is asked to review, and those reviewed", async () => {
      const repositoryId = await addRepository();
      const asked = await open(repositoryId, "asked");
      const reviewed = await open(repositoryId, "reviewed");
      const pending = await open(repositoryId, "pending");
      await db.transaction(async (tx) => {
        const of = { reviewerId: nora, isOfficial: false };
        await insertReviewRequest(tx, { ...of, issueId: asked.id });
        await insertReview(tx, { ...of, issueId: reviewed.id, state: "approved" });
        await insertReview(tx, { ...of, issueId: pending.id, state: "pending" });
      });
      const find = async (more: Partial<IssueFilter>) => {
        const filter = { within: { repositoryId }, state: "all", term: "", labelIds: [] } as const;
        const window = { limit: 9, offset: 0 };
        const { issues } = await listIssues(db, { ...filter, ...more }, window);
        return issues.map(({ title }) => title);
      };
      expect(await find({ requestedReviewerId: nora })).toEqual(["asked"]);
      expect(await find({ requestedReviewerId: mira })).toEqual([]);
      expect(await find({ reviewerId: nora })).toEqual(["reviewed"]);
    });

    test("a term that no text has costs little, however the texts are made", async () => {
      const repositoryId = await addRepository();
      for (let count = 0; count < 30; count += 1)
        await open(repositoryId, "x", "a".repeat(262_144));
      const find = async (term: string) =>
        (
          await listIssues(
            db,
            { within: { repositoryId }, state: "all", term, labelIds: [] },
            { limit: 1, offset: 0 },
          )
        ).total;
      // A naive search at every character of every text would take minutes.
      expect(await find(`${"a".repeat(199)}b`)).toBe(0);
      expect(await find(`${"a".repeat(7999)}b`)).toBe(0);
      expect(await find("a".repeat(200))).toBe(30);
      expect(await find("a".repeat(201))).toBe(0);
    });

    test("comments are cut where they do not fit into one answer", async () => {
      const repositoryId = await addRepository();
      const issue = await open(repositoryId, "x");
      const times: number[] = [];
      for (const length of [20, 5, 5, 30, 1]) {
        now += 1000;
        times.push(now);
        const body = "é".repeat(length);
        await db.transaction((tx) =>
          insertComment(tx, { issueId: issue.id, authorId: mira, body }),
        );
      }
      const list = async (count: number, bytes: number, filter: object = {}) => {
        const wanted = { issueId: issue.id, ...filter };
        const { comments, total } = await listComments(db, wanted, { count, bytes });
        return [total, ...comments.map(({ body }) => body.length)];
      };
      expect(await list(9, 1000)).toEqual([5, 20, 5, 5, 30, 1]);
      expect(await list(2, 1000)).toEqual([5, 20, 5]);
      expect(await list(9, 60)).toEqual([5, 20, 5, 5]);
      expect(await list(9, 1)).toEqual([5, 20]);
      expect(await list(9, 1000, { since: times[3] })).toEqual([2, 30, 1]);
      expect(await list(9, 1000, { since: times[1], before: times[2] })).toEqual([2, 5, 5]);
      expect(await list(9, 1000, { since: now + 1 })).toEqual([0]);
    });

    test("a repository counts its open issues", async () => {
      const repositoryId = await addRepository();
      const count = async () => (await findRepositoryById(db, repositoryId))?.openIssueCount;
      const one = await open(repositoryId, "a");
      await open(repositoryId, "b", "", true);
      expect(await count()).toBe(1);
      const set = (isClosed: boolean) =>
        db.transaction((tx) => updateIssue(tx, one.id, { isClosed, closedAt: undefined }));
      await Promise.all([set(true), set(true)]);
      expect(await count()).toBe(0);
      await set(false);
      expect(await count()).toBe(1);
      await db.transaction((tx) => updateIssue(tx, one.id, { title: "c" }, 99));
      expect(await count()).toBe(1);
    });

    test("an offer is visible to its recipient, or to members who may create repositories in an organization", async () => {
      const repositoryId = await addRepository();
      const org = await db.transaction(async (tx) => {
        const made = await insertUser(tx, newUserRow("org", { kind: "organization", email: "" }));
        await insertOwnersTeam(tx, made.id, nora);
        return made.id;
      });
      const offer = (recipientId: UserId) =>
        db.transaction((tx) =>
          insertTransfer(tx, { repositoryId, doerId: mira, recipientId, teamIds: [] }),
        );
      await offer(nora);
      expect(await findTransfer(db, repositoryId)).toMatchObject({
        doerId: mira,
        recipientId: nora,
      });
      const second = await offer(org).catch((error: unknown) => error);
      expect(isConflict(second)).toBe(true);
      expect(await isOfferedTo(db, repositoryId, nora)).toBe(true);
      expect(await isOfferedTo(db, repositoryId, mira)).toBe(false);
      const end = () => db.transaction((tx) => deleteTransfer(tx, repositoryId));
      expect([await end(), await end()]).toEqual([true, false]);
      expect(await isOfferedTo(db, repositoryId, nora)).toBe(false);
      await offer(org);
      expect(await isOfferedTo(db, repositoryId, nora)).toBe(true);
      expect(await isOfferedTo(db, repositoryId, mira)).toBe(false);
      expect(await listRepositoryMakers(db, org)).toEqual([nora]);
      const before = await countRepositoriesOf(db, mira);
      await db.transaction((tx) => deleteRepository(tx, repositoryId));
      expect(await findTransfer(db, repositoryId)).toBeUndefined();
      expect(await countRepositoriesOf(db, mira)).toBe(before - 1);
    });

    test("the last report of a context counts", async () => {
      const repositoryId = await addRepository();
      const report = (
        commitId: string,
        context: string,
        state: "pending" | "success" | "failure",
      ) =>
        db.transaction((tx) =>
          insertCommitStatus(tx, {
            repositoryId,
            commitId,
            context,
            state,
            targetUrl: "",
            description: "",
            creatorId: mira,
            authorId: nora,
          }),
        );
      await report("a", "build", "failure");
      await report("a", "lint", "success");
      await report("a", "build", "success");
      await report("b", "build", "pending");
      const latest = await listLatestStatuses(db, repositoryId, "a");
      expect(latest.map(({ context, state }) => [context, state])).toEqual([
        ["build", "success"],
        ["lint", "success"],
      ]);
      const key = { repositoryId, context: "build", authorId: nora };
      expect(await findLastOutcome(db, key)).toMatchObject({ commitId: "a", state: "success" });
      expect(await findLastOutcome(db, { ...key, authorId: mira })).toBeUndefined();
      const listed = await listCommitStatuses(
        db,
        { repositoryId, commitId: "a" },
        { state: "success", isOldestFirst: true, limit: 1, offset: 1 },
      );
      expect([listed.total, listed.statuses.map(({ context }) => context)]).toEqual([2, ["build"]]);
    });
  },
);
