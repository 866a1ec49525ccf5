import { describe, expect, test } from "vitest";
import { createAuditTrail } from "../../daemon/vault/admin/audit.service.ts";
import { createOverview } from "../../daemon/vault/admin/overview.service.ts";
import { createUserAdministration } from "../../daemon/vault/admin/users.service.ts";
import type { VaultCaller } from "../../daemon/vault/caller.ts";
import type { Database } from "../../storage/engine/database.ts";
import {
  auditTrail,
  client,
  createTestRandom,
  credentials,
  enrol,
  identify,
  openTestAccounts,
  OTHER_STRONG,
  register,
  signIn,
  STRONG,
  type TestAccounts,
  totpCode,
} from "../support/vault/vault-accounts.ts";

/** Opens a database with all migrations twice, as two daemons do. */
export type OpenTwice = (clock: () => number) => Promise<readonly [Database, Database]>;

/** The guarantees of accounts with every engine and any number of daemons on the database. */
export function vaultAccountsSuite(name: string, openTwice: OpenTwice): void {
  describe(name, () => {
    async function open() {
      const state = { now: Date.UTC(2026, 10, 20, 9, 30) };
      const clock = () => state.now;
      const [first, second] = await openTwice(clock);
      const attempts = { consume: async () => ({ allowed: true, resetSeconds: 900 }) };
      const daemon = (db: Database, seed: string) =>
        openTestAccounts({ db, clock, attempts, randomBytes: createTestRandom(seed) });
      const [one, other] = [await daemon(first, "one"), await daemon(second, "other")];
      return {
        one,
        other,
        wait: (ms: number) => {
          state.now += ms;
          one.now = other.now = state.now;
        },
        both: <T>(action: (daemon: TestAccounts, index: number) => Promise<T>, times = 1) =>
          Promise.allSettled(
            Array.from({ length: times }, () => [one, other]).flatMap((daemons) =>
              daemons.map((each, index) => action(each, index)),
            ),
          ),
        [Symbol.asyncDispose]: async () => {
          await first.close();
          if (second !== first) await second.close();
        },
      };
    }

    const count = (results: readonly PromiseSettledResult<unknown>[]) =>
      results.filter(({ status }) => status === "fulfilled").length;

    test("one handle and one address are registered once", async () => {
      await using daemons = await open();
      const results = await daemons.both((each) => register(each), 3);
      expect(count(results)).toBe(1);
      for (const result of results)
        if (result.status === "rejected")
          expect(result.reason).toMatchObject({
            code: "conflict",
            message: "Email or handle already in use",
          });
    });

    test("one refresh token is exchanged once, and the family falls", async () => {
      await using daemons = await open();
      await register(daemons.one);
      const { refreshToken } = await signIn(daemons.one);
      const results = await daemons.both(
        (each) => each.sessions.refresh(client({ refreshToken })),
        5,
      );
      expect(count(results)).toBe(1);
      const won = results.find((result) => result.status === "fulfilled")!;
      await expect(identify(daemons.other, won.value)).rejects.toMatchObject({
        code: "unauthenticated",
      });
      await expect(
        daemons.other.sessions.refresh(client({ refreshToken: won.value.refreshToken })),
      ).rejects.toMatchObject({ message: "Session revoked" });
    });

    test("one code and one backup code sign in once", async () => {
      await using daemons = await open();
      await register(daemons.one);
      const { secret, backupCodes } = await enrol(daemons.one);
      daemons.wait(60_000);
      const code = totpCode(secret, daemons.one.now);
      const byCode = await daemons.both((each) => signIn(each, { totpCode: code }), 3);
      expect(count(byCode)).toBe(1);
      const byBackup = await daemons.both(
        (each) => signIn(each, { backupCode: backupCodes[0] }),
        3,
      );
      expect(count(byBackup)).toBe(1);
    });

    test("one password is replaced once, and earlier sessions end everywhere", async () => {
      await using daemons = await open();
      await register(daemons.one);
      const tokens = await signIn(daemons.one);
      const caller = await identify(daemons.other, tokens);
      const results = await daemons.both((each, index) =>
        each.passwords.change(
          caller,
          { current: STRONG, next: `${OTHER_STRONG}${index}` },
          client(),
        ),
      );
      expect(count(results)).toBe(1);
      await expect(identify(daemons.one, tokens)).rejects.toMatchObject({
        code: "unauthenticated",
      });
      await expect(identify(daemons.other, tokens)).rejects.toMatchObject({
        code: "unauthenticated",
      });
      const records = (await auditTrail(daemons.other)).map(({ eventType }) => eventType);
      expect(records).toEqual(["auth.login", "auth.password_changed"]);
    });

    test.each(["deactivate", "delete"])(
      "when two administrators %s each other, one of them remains",
      async (verb) => {
        await using daemons = await open();
        const administrators: VaultCaller[] = [];
        for (const handle of ["ada", "bo"]) {
          const { id } = await daemons.one.registration.createFirstAdministrator({
            handle,
            email: `${handle}@example.org`,
            password: STRONG,
          });
          const unused = { email: "", sessionId: "", address: "" };
          administrators.push({ userId: id, handle, role: "admin", ...unused });
        }
        const results = await daemons.both<unknown>((each, index) => {
          const users = createUserAdministration({
            db: each.db,
            newId: each.deps.newId,
            resetMails: each.resetMails,
            invitationLinks: each.invitationLinks,
            releaseStorages: async () => async () => undefined,
            defaultQuotaBytes: each.deps.settings.defaultQuotaBytes,
          });
          const by = administrators[index]!;
          const { userId } = administrators[1 - index]!;
          return verb === "delete" ? users.remove(by, userId) : users.setActive(by, userId, false);
        });
        expect(count(results)).toBe(1);
      },
    );

    test("a sign-in that a deactivation overtakes leaves no session that works", async () => {
      await using daemons = await open();
      const user = await register(daemons.one);
      const results = await Promise.allSettled([
        signIn(daemons.one),
        daemons.other.db.run(
          "UPDATE vault_users SET is_active = 0, token_version = token_version + 1 WHERE id = ?",
          user.id,
        ),
      ]);
      const [signedIn] = results;
      if (signedIn.status === "fulfilled")
        await expect(identify(daemons.one, signedIn.value)).rejects.toMatchObject({
          code: "unauthenticated",
        });
      await expect(daemons.one.signIn.signIn(credentials(), client())).rejects.toMatchObject({
        message: "Account deactivated",
      });
    });

    test("users and records are found by their conditions", async () => {
      await using daemons = await open();
      const { one } = daemons;
      await register(one);
      await register(one, { handle: "Otto_100", email: "otto@example.org" });
      await signIn(one, { email: "otto@example.org" });
      daemons.wait(1000);
      await signIn(one);
      const users = createUserAdministration({
        db: one.db,
        newId: one.deps.newId,
        resetMails: one.resetMails,
        invitationLinks: one.invitationLinks,
        releaseStorages: async () => async () => undefined,
        defaultQuotaBytes: one.deps.settings.defaultQuotaBytes,
      });
      const audit = createAuditTrail({ db: one.db, clock: one.deps.clock });
      const overview = createOverview({ db: one.db });
      const page = { page: 1, perPage: 10 };
      const handles = async (text: string) =>
        (await users.list({ text }, page)).users.map(({ handle }) => handle);
      expect(await handles("TTO_1")).toEqual(["Otto_100"]);
      expect(await handles("tto%1")).toEqual([]);
      expect(await handles("\\")).toEqual([]);
      expect(await users.list({ isActive: true, role: "user" }, page)).toMatchObject({ total: 2 });
      expect(await audit.list({ userHandle: "OTTO_100" }, page)).toMatchObject({
        total: 2,
        records: [
          { eventType: "auth.login", userHandle: "Otto_100", metadata: { totp_used: false } },
          { eventType: "auth.registered", userHandle: "Otto_100", metadata: { role: "user" } },
        ],
      });
      expect((await audit.list({ from: one.now, eventPrefix: "auth" }, page)).total).toBe(1);
      expect((await audit.list({ to: one.now, eventPrefix: "admin" }, page)).total).toBe(0);
      const lines: string[] = [];
      for await (const batch of await audit.exportCsv({ userHandle: "otto_100" }))
        lines.push(batch);
      expect(lines).toEqual([
        expect.stringMatching(/^id,/),
        expect.stringMatching(/,auth\.login,.*,Otto_100,/),
      ]);
      await one.db.run("UPDATE vault_quotas SET used_bytes = 21");
      expect(await overview.view()).toMatchObject({
        users: 2,
        storageBytes: 42,
        records: [
          { userHandle: "mira", eventType: "auth.login" },
          { userHandle: "Otto_100", eventType: "auth.login" },
          { userHandle: "Otto_100", eventType: "auth.registered" },
          { userHandle: "mira", eventType: "auth.registered" },
        ],
      });
    });

    test("the second factor cannot be partially enabled by any write", async () => {
      await using daemons = await open();
      await register(daemons.one);
      await expect(
        daemons.one.db.run("UPDATE vault_users SET totp_enabled = 1"),
      ).rejects.toMatchObject({ code: "conflict" });
      await expect(
        daemons.one.db.run("UPDATE vault_quotas SET used_bytes = -1"),
      ).rejects.toMatchObject({ code: "conflict" });
    });
  });
}
