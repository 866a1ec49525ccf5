import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ForgeCaller } from "../../../../../daemon/forge/caller.ts";
import { createTimelines } from "../../../../../daemon/forge/issues/timeline.service.ts";
import type { GrantedRepository } from "../../../../../daemon/forge/opened.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { type ForgeUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { type ForgeIssue, insertIssue } from "../../../../../storage/tables/forge/issues/issues.ts";
import { insertEvents } from "../../../../../storage/tables/forge/issues/timeline.ts";
import { insertTrackedTime } from "../../../../../storage/tables/forge/issues/tracked-times.ts";
import {
  type ForgeRepository,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const COUNT = 40;

describe.each(["sqlite", "postgres"] as const)("a timeline of many issues, on %s", (engine) => {
  let db: Database;
  let mira: ForgeUser;
  let repository: ForgeRepository;
  let issue: ForgeIssue;

  const newIssue = (to: ForgeRepository, title: string) => ({
    repositoryId: to.id,
    authorId: mira.id,
    title,
    body: "",
    ref: "",
    isClosed: false,
    dueAt: undefined,
  });

  beforeAll(async () => {
    db = await openTestDatabase({ engine });
    await db.transaction(async (tx) => {
      mira = await insertUser(tx, newUserRow("mira"));
      const nora = await insertUser(tx, newUserRow("nora"));
      repository = await insertRepository(tx, newRepositoryRow(mira, "hut"));
      const hidden = { ...newRepositoryRow(nora, "secret"), isPrivate: true };
      const secret = await insertRepository(tx, hidden);
      issue = await insertIssue(tx, newIssue(repository, "Here"));
      for (let at = 0; at < COUNT; at += 1) {
        const to = at % 4 === 3 ? secret : repository;
        const other = await insertIssue(tx, newIssue(to, `Other ${at}`));
        const time = { issueId: issue.id, userId: mira.id, seconds: at + 1, createdAt: at };
        const { id: trackedTimeId } = await insertTrackedTime(tx, time);
        await insertEvents(tx, issue.id, mira.id, [
          { kind: "add_dependency", details: { dependentIssueId: other.id } },
          { kind: "add_time_manual", details: { trackedTimeId, seconds: at + 1 } },
        ]);
      }
    });
  });
  afterAll(() => db.close());

  async function list(limit: number) {
    let statements = 0;
    const counting = new Proxy(db, {
      get: (target, name) => {
        if (name === "get" || name === "all") statements += 1;
        return Reflect.get(target, name);
      },
    });
    const timelines = createTimelines({ db: counting, emit: async () => undefined });
    const opened = { repository, owner: mira, access: "owner" } as unknown as GrantedRepository;
    const caller = { user: mira, scopes: ["all"] } as unknown as ForgeCaller;
    const query = { page: 1, limit, since: "", before: "" };
    return { ...(await timelines.list(opened, 1, caller, query)), statements };
  }

  test("each entry has the issue that it names, unless the caller may not read it, and its time", async () => {
    const { entries, dependents, times } = await list(2 * COUNT);
    expect(entries).toHaveLength(2 * COUNT);
    const named = entries.flatMap(({ details: { dependentIssueId: id } }) => id ?? []);
    expect(named.map((id) => dependents.get(id)?.issue.title)).toEqual(
      Array.from({ length: COUNT }, (_, at) => (at % 4 === 3 ? undefined : `Other ${at}`)),
    );
    expect([...times.values()].map(({ time }) => time.seconds).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: COUNT }, (_, at) => at + 1),
    );
  });

  test("a page that names many issues takes as many statements as one that names two", async () => {
    // The first four entries name two issues of one repository; the others those of one repository more.
    const few = (await list(4)).statements;
    const all = (await list(2 * COUNT)).statements;
    expect(all - few).toBeLessThanOrEqual(4);
  });
});
