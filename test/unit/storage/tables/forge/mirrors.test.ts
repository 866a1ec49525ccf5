import { expect, onTestFinished, test } from "vitest";
import {
  BEYOND_INTERVAL_MS,
  toNextSync,
} from "../../../../../daemon/forge/repositories/mirror-interval.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  insertMirror,
  listDueMirrors,
  updateMirror,
} from "../../../../../storage/tables/forge/repositories/mirrors.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

test.each(["sqlite", "postgres"] as const)(
  "a mirror whose time a clock that was a year ahead has set is due, and one that waits after failures is not, on %s",
  async (engine) => {
    const now = 1_000_000_000_000;
    const db = await openTestDatabase({ engine, clock: () => now });
    onTestFinished(() => db.close());
    const mirror = await db.transaction(async (tx) => {
      const mira = await insertUser(tx, newUserRow("mira", {}));
      const { id: repositoryId } = await insertRepository(tx, newRepositoryRow(mira, "kiln", {}));
      const row = {
        ...{ repositoryId, actorId: mira.id, direction: "pull" as const, name: "origin" },
        intervalSeconds: 28_800,
        ...{ address: "https://example.org/x.git", syncOnCommit: false, syncedAt: undefined },
      };
      return insertMirror(tx, { ...row, nextAt: undefined }, () => "");
    });
    const isDue = async (nextAt: number | undefined) => {
      await updateMirror(db, mirror.id, { nextAt });
      const found = await listDueMirrors(db, now, { waitMs: BEYOND_INTERVAL_MS, limit: 10 });
      return found.length === 1;
    };
    expect(await isDue(undefined)).toBe(false);
    expect(await isDue(now)).toBe(true);
    for (const failures of [0, 1, 20])
      expect(await isDue(toNextSync(mirror, now, failures))).toBe(false);
    expect(await isDue(toNextSync(mirror, now + 365 * 86_400_000))).toBe(true);
  },
);
