import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import { readMigrations } from "../../../../../storage/engine/migrate.ts";
import { toDialectStatements } from "../../../../../storage/engine/dialect.ts";
import { foldForIndex, toContains } from "../../../../../storage/tables/contains.ts";
import type { IssueId, RepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import {
  deleteIssue,
  insertImportedIssue,
  insertIssue,
  updateIssue,
} from "../../../../../storage/tables/forge/issues/issues.ts";
import { listIssues } from "../../../../../storage/tables/forge/issues/lists.ts";
import {
  findMissingRange,
  indexMissing,
  SEARCHED_MAX,
} from "../../../../../storage/tables/forge/issues/search-index.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  deleteRepository,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { cases } from "../../../../support/property.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

describe.each(["sqlite", "postgres"] as const)("the search of issues, on %s", (engine) => {
  let db: Database;
  let repositoryId: RepositoryId;
  beforeAll(async () => {
    db = await openTestDatabase({ engine });
    repositoryId = await newRepository("hut");
  });
  afterAll(() => db.close());

  const newRepository = (name: string) =>
    db.transaction(async (tx) => {
      const owner = await insertUser(tx, newUserRow(`owner-of-${name}`));
      return (await insertRepository(tx, newRepositoryRow(owner, name))).id;
    });
  const toNew = (title: string, body: string) => ({
    repositoryId,
    authorId: undefined,
    title,
    body,
    ref: "",
    isClosed: false,
    dueAt: undefined,
  });
  const add = (title: string, body = "") =>
    db.transaction((tx) => insertIssue(tx, toNew(title, body)));
  const filter = (term: string) =>
    ({ within: { repositoryId }, state: "all", term, labelIds: [] }) as const;
  const search = async (term: string) => {
    const window = { limit: 1_000, offset: 0 };
    const { issues, total } = await listIssues(db, filter(term), { ...window, indexedFrom: 0 });
    expect(issues.length).toBe(total);
    expect((await listIssues(db, filter(term), window)).issues).toEqual(issues);
    return issues.map(({ id }) => id).sort((a, b) => a - b);
  };
  /** The same without the index. */
  async function scan(term: string): Promise<IssueId[]> {
    const texts = ["title", `SUBSTR(body, 1, ${SEARCHED_MAX})`].map((text) =>
      toContains(db.dialect, text, term),
    );
    const rows = await db.all<{ id: IssueId }>(
      `SELECT id FROM forge_issues WHERE repository_id = ? AND (${texts.map(({ sql }) => sql).join(" OR ")}) ORDER BY id`,
      repositoryId,
      ...texts.flatMap(({ values }) => values),
    );
    return rows.map(({ id }) => id);
  }

  const letters = fc.constantFrom(
    ..."aAbBßẞſsSσςΣİiIıKkÅåé\u0301 \n\t\"'%_*-^\u0001🦊\ud83e中文Ǆǅǆŉ",
  );
  const text = (maxLength: number) =>
    fc.array(letters, { maxLength }).map((found) => found.join(""));

  test("finds the same issues with the index as a comparison with every text does", async () => {
    const texts = fc.sample(fc.tuple(text(12), text(40)), { numRuns: 60, seed: 3 });
    for (const [title, body] of texts) await add(title, body);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          text(6),
          fc
            .tuple(fc.constantFrom(...texts.flat()), fc.nat(40), fc.nat(8))
            .map(([whole, from, length]) => whole.slice(from, from + length)),
        ),
        async (term) => {
          if (term !== "") expect(await search(term)).toEqual(await scan(term));
        },
      ),
      cases(200),
    );
  });

  test("follows each change of an issue, and its deletion", async () => {
    const { id } = await add("Squeaking gate", "in the valley");
    expect(await search("SQUEAKING")).toEqual([id]);
    await db.transaction((tx) => updateIssue(tx, id, { title: "Silent door" }));
    expect([await search("squeaking"), await search("silent"), await search("valley")]).toEqual([
      [],
      [id],
      [id],
    ]);
    await db.transaction((tx) => updateIssue(tx, id, { body: "on the mountain" }));
    expect([await search("valley"), await search("mountain")]).toEqual([[], [id]]);
    const imported = await db.transaction((tx) =>
      insertImportedIssue(tx, {
        ...toNew("Brought over", "from elsewhere"),
        number: 9_000,
        isPull: true,
        originalAuthor: "ada",
        milestoneId: undefined,
        lockedAt: undefined,
        closedAt: undefined,
        createdAt: 1,
        updatedAt: 2,
      }),
    );
    expect(await search("elsewhere")).toEqual([imported?.id]);
    const found = await listIssues(db, filter("mountain"), { limit: 1, offset: 0 });
    for (const issue of found.issues) await db.transaction((tx) => deleteIssue(tx, issue));
    expect(await search("mountain")).toEqual([]);
    expect(await countIndexed(id)).toBe(0);
  });

  test("finds a word at the end of what is searched of a long body, and none beyond", async () => {
    const fill = "🦊".repeat(SEARCHED_MAX - 6);
    const near = await add("long", `${fill}within`);
    await add("longer", `${fill}.beyond`);
    expect(await search("within")).toEqual([near.id]);
    expect(await search("beyond")).toEqual([]);
  });

  test("indexes the issues of an earlier version in batches, and finds them meanwhile", async () => {
    await db.run("DELETE FROM forge_issue_grams_missing");
    repositoryId = await newRepository("old");
    const old = [await add("hinge one"), await add("hinge two"), await add("hinge three")];
    for (const { id } of old) await forget(id);
    const migration = readMigrations().find(({ name }) => name === "forge_issue_grams");
    const statements = toDialectStatements(migration?.script ?? "", db.dialect);
    const filling = statements.filter((statement) => /^\s*INSERT INTO/m.test(statement));
    expect(filling.length).toBe(2);
    for (const statement of filling) await db.run(statement);
    const jobs = await db.all("SELECT kind FROM jobs WHERE state = 'waiting'");
    expect(jobs).toEqual([{ kind: "forge.issues.index" }]);
    const expected = old.map(({ id }) => id);
    const newer = await add("hinge four");
    expect(await search("hinge")).toEqual([...expected, newer.id]);
    const changed = expected[1] ?? newer.id;
    await db.transaction((tx) => updateIssue(tx, changed, { title: "hinges" }));
    let batches = 1;
    while (await db.transaction((tx) => indexMissing(tx, 50))) {
      batches += 1;
      expect(await search("hinge")).toEqual([...expected, newer.id]);
    }
    expect(batches).toBeGreaterThan(1);
    expect(await findMissingRange(db)).toBeUndefined();
    expect([await search("hinge"), await search("hinges")]).toEqual([
      [...expected, newer.id],
      [changed],
    ]);
    await db.transaction((tx) => deleteRepository(tx, repositoryId));
    for (const id of expected) expect(await countIndexed(id)).toBe(0);
  });

  const forget = (id: IssueId) =>
    db.run(
      engine === "sqlite"
        ? "DELETE FROM forge_issue_grams WHERE rowid = ?"
        : "UPDATE forge_issues SET grams = NULL WHERE id = ?",
      id,
    );
  async function countIndexed(id: IssueId): Promise<number | undefined> {
    const row = await db.get<{ count: number }>(
      engine === "sqlite"
        ? "SELECT COUNT(*) AS count FROM forge_issue_grams WHERE rowid = ?"
        : "SELECT COUNT(*) AS count FROM forge_issues WHERE id = ? AND grams IS NOT NULL",
      id,
    );
    return row?.count;
  }
});

test("letters that a search takes for the same have one form in the index", () => {
  for (let code = 1; code <= 0x1_ffff; code += 1) {
    const letter = String.fromCodePoint(code);
    if (letter.toUpperCase() === letter && letter.toLowerCase() === letter) continue;
    const [small = ""] = foldForIndex(letter);
    // The letters that SQL replaces by the folded one, and those that the database makes small.
    const [, ...values] = toContains("sqlite", "x", letter).values.toReversed();
    for (const other of values.map(String))
      if (foldForIndex(other) !== small)
        expect.fail(`${code.toString(16)} and ${other} have two forms`);
    const lower = letter.toLowerCase();
    if (Array.from(lower).length === 1 && foldForIndex(lower) !== small)
      expect.fail(`${code.toString(16)} and its small letter differ`);
  }
});
