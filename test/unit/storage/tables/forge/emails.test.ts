import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import {
  deleteEmail,
  findEmail,
  insertEmail,
  listEmails,
  listEmailsOf,
  replacePrimaryEmail,
  toMatches,
} from "../../../../../storage/tables/forge/accounts/emails.ts";
import { deleteUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { newUserRow } from "../../../../support/forge/forge-rows.ts";

describe.each(["sqlite", "postgres"] as const)("addresses on %s", (engine) => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase({ engine });
  });
  afterAll(() => db.close());

  const find = async (term: string) =>
    (await listEmails(db, term, { limit: 10, offset: 0 })).emails.map(({ email }) => email);

  test("e-mail addresses are found by themselves and their owner's names, and not after they are deleted", async () => {
    const user = await db.transaction(async (tx) => {
      const made = await insertUser(tx, newUserRow("mira", { fullName: "Mira Example" }));
      for (const [email, isPrimary] of [
        ["mira@example.org", true],
        ["Other.Address@Else.Where.org", false],
      ] as const)
        await insertEmail(tx, { userId: made.id, email, isVerified: true, isPrimary });
      return made;
    });
    const both = ["mira@example.org", "Other.Address@Else.Where.org"];
    expect(await find("MIRA EX")).toEqual(both);
    expect(await find("mi_a")).toEqual(both);
    expect(await find("ess@else")).toEqual(["Other.Address@Else.Where.org"]);
    expect(await find("ls")).toEqual(["Other.Address@Else.Where.org"]);
    expect(await find('"')).toEqual([]);
    expect(await find('""" OR "mira')).toEqual([]);

    await db.transaction((tx) => replacePrimaryEmail(tx, user.id, "new@example.org"));
    expect((await listEmailsOf(db, user.id)).map(({ email }) => email)).toEqual([
      "new@example.org",
      "Other.Address@Else.Where.org",
    ]);
    expect(await find("mira@ex")).toEqual([]);
    const other = await findEmail(db, "other.address@else.where.ORG");
    if (other === undefined) throw new Error("the address is gone");
    await db.transaction((tx) => deleteEmail(tx, other));
    expect(await find("else.where")).toEqual([]);
    await db.transaction((tx) => deleteUser(tx, user));
    expect(await find("new@example")).toEqual([]);
    expect(await find("")).toEqual([]);
    const next = await db.transaction((tx) => insertUser(tx, newUserRow("nora")));
    await db.transaction((tx) =>
      insertEmail(tx, { userId: next.id, email: "n@a.org", isVerified: true, isPrimary: true }),
    );
    expect(await find("else.where")).toEqual([]);
    expect(await find("n@a")).toEqual(["n@a.org"]);
  });
});

test("SQLite looks up a term of three letters in an index, and sorts only the matches", async () => {
  const db = await openTestDatabase({ engine: "sqlite" });
  const { from, values } = toMatches("sqlite", "abc");
  const plan = await db.all<{ detail: string }>(
    `EXPLAIN QUERY PLAN SELECT e.id ${from} ORDER BY e.lower_email LIMIT 50`,
    ...values,
  );
  const details = plan.map(({ detail }) => detail).join("\n");
  expect(details).toMatch(/forge_email_grams VIRTUAL TABLE INDEX \d+:M/);
  expect(details).toMatch(/forge_user_grams VIRTUAL TABLE INDEX \d+:M/);
  expect(details).not.toMatch(/SCAN [eo]\b/);
  await db.close();
});
