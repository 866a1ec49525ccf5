import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { createDavLocks } from "../../../../../daemon/vault/dav/locks.service.ts";
import { insertDavLock } from "../../../../../storage/tables/vault/dav-locks.ts";
import { toAccountId } from "../../../../../storage/tables/vault/ids.ts";
import { insertVaultUser } from "../../../../../storage/tables/vault/users.ts";
import { skipUnless } from "../../../../support/skip.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const mira = toAccountId("mira");
const noor = toAccountId("noor");

async function openScene(engine: "sqlite" | "postgres") {
  const clock = { now: 1_000_000 };
  const db = await openTestDatabase({ engine, clock: () => clock.now });
  onTestFinished(() => db.close());
  await db.transaction(async (tx) => {
    for (const id of [mira, noor])
      await insertVaultUser(tx, {
        ...{ id, handle: id, email: `${id}@example.org` },
        ...{ passwordHash: "", role: "user" as const, passwordMustChange: false },
      });
  });
  const open = () => createDavLocks({ db, clock: () => clock.now, newId: randomUUID });
  return { db, clock, locks: open(), open };
}

const wanted = (place: string, more: object = {}) => ({
  ...{
    place,
    resourceId: undefined,
    scope: "exclusive" as const,
    isDeep: false,
    owner: "",
    seconds: 60,
  },
  ...more,
});

const engines = ["sqlite", "postgres"] as const;
const hasPostgres = process.env["CROFT_TEST_POSTGRES_URL"] !== undefined;

for (const engine of engines)
  skipUnless(
    engine === "sqlite" || hasPostgres,
    "CROFT_TEST_POSTGRES_URL names no server",
  ).describe(`locks of WebDAV clients on ${engine}`, () => {
    test("expire, live on by a refresh, and outlive a restart", async () => {
      const { clock, locks, open } = await openScene(engine);
      const made = await locks.create(mira, wanted("c/a"));
      if (made.kind !== "locked") throw new Error("a free place was locked");
      clock.now += 59_000;
      expect(await locks.refresh(made.lock, 120)).toMatchObject({ seconds: 120 });
      clock.now += 119_000;
      expect(await open().list(mira)).toMatchObject([{ place: "c/a" }]);
      expect((await open().create(mira, wanted("c/a"))).kind).toBe("conflict");
      clock.now += 1_000;
      expect(await locks.list(mira)).toEqual([]);
      expect(await locks.refresh(made.lock, 120)).toBeUndefined();
      expect((await locks.create(mira, wanted("c/a"))).kind).toBe("locked");
    });

    test("of a file that is not there yet end after two minutes, and live for their time once it is there", async () => {
      const { clock, locks } = await openScene(engine);
      const pending = { ...wanted("c/new"), seconds: 3_600, isPending: true };
      const made = await locks.create(mira, pending);
      if (made.kind !== "locked") throw new Error("a free place was locked");
      clock.now += 60_000;
      expect((await locks.create(mira, pending)).kind).toBe("conflict");
      // The daemon was killed before the file was there.
      clock.now += 60_000;
      const again = await locks.create(mira, pending);
      if (again.kind !== "locked") throw new Error("a free place was locked");
      expect(await locks.confirm(made.lock, "file")).toBeUndefined();
      const held = await locks.confirm(again.lock, "file");
      expect(held).toMatchObject({ resourceId: "file", expiresAt: clock.now + 3_600_000 });
      clock.now += 3_599_000;
      expect(await locks.list(mira)).toMatchObject([{ token: again.lock.token }]);
    });

    test("of a clock that was a year ahead end as those of the clock that is right", async () => {
      const { clock, locks } = await openScene(engine);
      clock.now += 365 * 86_400_000;
      expect((await locks.create(mira, wanted("c/a"))).kind).toBe("locked");
      clock.now -= 365 * 86_400_000;
      expect((await locks.create(mira, wanted("c/a"))).kind).toBe("conflict");
      clock.now += 60_000;
      expect((await locks.create(mira, wanted("c/a"))).kind).toBe("locked");
    });

    test("of several clients that lock one place at once, one succeeds", async () => {
      const { locks } = await openScene(engine);
      const results = await Promise.all(
        Array.from({ length: 8 }, () => locks.create(mira, wanted("c/a"))),
      );
      expect(results.filter(({ kind }) => kind === "locked")).toHaveLength(1);
    });

    test("conflict with what lies in a folder and with the folder above, and not across accounts", async () => {
      const { locks } = await openScene(engine);
      const kind = async (place: string, more: object = {}, user = mira) =>
        (await locks.create(user, wanted(place, more))).kind;
      expect(await kind("c/f", { isDeep: true })).toBe("locked");
      expect(await kind("c/f/x")).toBe("conflict");
      expect(await kind("c", { isDeep: true })).toBe("conflict");
      expect(await kind("c")).toBe("locked");
      expect(await kind("c/far")).toBe("locked");
      expect(await kind("c/f/x", {}, noor)).toBe("locked");
      expect(await kind("c/s", { scope: "shared" })).toBe("locked");
      expect(await kind("c/s", { scope: "shared" })).toBe("locked");
      expect(await kind("c/s")).toBe("conflict");
    });

    test("are at most a thousand for an account", async () => {
      const { db, clock, locks } = await openScene(engine);
      const expiresAt = clock.now + 60_000;
      await db.transaction(async (tx) => {
        for (let at = 0; at < 1_000; at += 1) {
          const lock = { ...wanted(`c/${at}`), token: `t${at}`, userId: mira, expiresAt };
          await insertDavLock(tx, lock);
        }
      });
      await expect(locks.create(mira, wanted("c/more"))).rejects.toMatchObject({
        code: "rate_limited",
      });
      expect((await locks.create(noor, wanted("c/more"))).kind).toBe("locked");
    });

    test("block a change for those who lack the token: of the place, above it, in it, and of its folder", async () => {
      const { locks } = await openScene(engine);
      const add = async (place: string, more: object = {}) => {
        const made = await locks.create(mira, wanted(place, more));
        return made.kind === "locked" ? made.lock.token : "";
      };
      const folder = await add("c/f");
      const inside = await add("c/f/x");
      const shared = await add("c/g/y", { scope: "shared" });
      await add("c/g/y", { scope: "shared" });
      const places = async (
        change: { place: string; isDeep?: boolean; changesFolder?: boolean },
        ...tokens: readonly string[]
      ) => {
        const changed = { isDeep: false, changesFolder: false, ...change };
        const blocking = await locks.findBlocking(mira, [changed], new Set(tokens));
        return blocking.map(({ place }) => place);
      };
      expect(await places({ place: "c/f/new" })).toEqual([]);
      expect(await places({ place: "c/f/new", changesFolder: true })).toEqual(["c/f"]);
      expect(await places({ place: "c/f/new", changesFolder: true }, folder)).toEqual([]);
      expect(await places({ place: "c/f", isDeep: true })).toEqual(["c/f", "c/f/x"]);
      expect(await places({ place: "c/f", isDeep: true }, folder, inside)).toEqual([]);
      expect(await places({ place: "c/g", isDeep: true })).toEqual(["c/g/y"]);
      expect(await places({ place: "c/g/y" }, shared)).toEqual([]);
      await locks.removeBelow(mira, "c/f");
      expect((await locks.list(mira)).map(({ place }) => place)).toEqual(["c/g/y", "c/g/y"]);
    });
  });
