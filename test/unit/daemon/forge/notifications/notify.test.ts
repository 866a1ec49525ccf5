import { describe, expect, onTestFinished, test } from "vitest";
import { insertPerson } from "../../../../../daemon/forge/accounts/insert-person.ts";
import {
  putResetLink,
  toResetHash,
} from "../../../../../daemon/forge/accounts/password-reset.service.ts";
import {
  findMentionedNames,
  isAccountAt,
} from "../../../../../daemon/forge/notifications/notify.ts";
import { updateUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { floods, longRuns } from "../../../../support/floods.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

/** The longest text of an issue. */
const TEXT_MAX = 262_144;

describe("mentions", () => {
  test.each<[string, string[]]>([
    ["@mira and @Nora: look, (@jo)", ["mira", "nora", "jo"]],
    ["mira@example.org, a.b+c@d, x/y@z", []],
    ["`@mira` and ``@nora``", []],
    ["```\n@mira\n```\n@nora", ["nora"]],
    ["~~~\n@mira\n```\n@nora", []],
    ["    @mira", ["mira"]],
    ["@-mira @", []],
    ["mail@a @b", ["b"]],
  ])("the text %j mentions %j", (text, names) => expect(findMentionedNames(text)).toEqual(names));

  test("at most fifty mentions of a text are notified", () => {
    const text = Array.from({ length: 100 }, (_, at) => `@p${at}`).join(" ");
    expect(findMentionedNames(text)).toHaveLength(50);
  });

  // A parser that looks back at every character would take minutes for the longest accepted text.
  test.each(Object.entries({ ...floods, ...longRuns }))(
    "%s is parsed in bounded time",
    (_name, flood) => {
      expect(findMentionedNames(flood(TEXT_MAX)).length).toBeLessThanOrEqual(50);
    },
  );
});

describe("a mail to an account", () => {
  const address = "mira@example.org";
  async function openScene() {
    const db = await openTestDatabase({ clock: () => 1_000 });
    onTestFinished(() => db.close());
    const user = await db.transaction((tx) =>
      insertPerson(tx, {
        ...{ username: "mira", email: address, fullName: "", isAdmin: false },
        ...{ passwordHash: "", createdAt: tx.now },
      }),
    );
    const invite = (token: string) =>
      db.transaction((tx) => putResetLink(tx, user, { token, expiresAt: 2_000 }));
    const isMeant = (more: object = {}) =>
      isAccountAt(db, { userId: user.id, address, now: 1_500, ...more });
    return { db, user, invite, isMeant };
  }

  test("is not meant for another address, nor for one who may not sign in", async () => {
    const { db, user, isMeant } = await openScene();
    expect(await isMeant()).toBe(true);
    expect(await isMeant({ address: "other@example.org" })).toBe(false);
    const blocked = { prohibitLogin: true, updatedAt: 1_000 };
    await db.transaction((tx) => updateUser(tx, user, blocked));
    expect(await isMeant()).toBe(false);
  });

  test("with a link to choose a password is meant while that link works", async () => {
    const { db, user, invite, isMeant } = await openScene();
    await invite("first");
    const first = { resetHash: toResetHash("first") };
    expect(await isMeant(first)).toBe(true);
    expect(await isMeant({ ...first, now: 2_000 })).toBe(false);
    await invite("second");
    expect(await isMeant(first)).toBe(false);
    const second = { resetHash: toResetHash("second") };
    expect(await isMeant(second)).toBe(true);
    const chosen = { passwordHash: "chosen", updatedAt: 1_000 };
    await db.transaction((tx) => updateUser(tx, user, chosen));
    expect(await isMeant(second)).toBe(false);
  });
});
