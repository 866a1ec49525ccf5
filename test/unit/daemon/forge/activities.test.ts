import { expect, test } from "vitest";
import {
  createForgeActivities,
  type ForgeActivities,
} from "../../../../daemon/forge/activities/activities.feature.ts";
import { insertUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { insertActivity } from "../../../../storage/tables/forge/activities/activities.ts";
import { insertRepository } from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { newRepositoryRow, newUserRow } from "../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const DAY = 86_400_000;

function open(db: Database, retentionDays: number, clock: () => number): ForgeActivities {
  return createForgeActivities({
    db,
    clock,
    enqueue: async () => 1,
    urls: { publicUrl: () => "http://croft.example" },
    retentionDays,
  });
}

test("the scheduled task deletes activities that are older than the setting says", async () => {
  let now = Date.UTC(2026, 10, 23);
  const clock = () => now;
  const db = await openTestDatabase({ clock });
  await db.transaction(async (tx) => {
    const mira = await insertUser(tx, newUserRow("mira"));
    const { id } = await insertRepository(tx, newRepositoryRow(mira, "cabin"));
    const activity = { actorId: mira.id, repositoryId: id, kind: "create_repo" } as const;
    await insertActivity(tx, activity, [mira.id]);
  });
  const count = async () => (await db.all("SELECT id FROM forge_activities")).length;
  const [task] = open(db, 365, clock).tasks;
  const run = () => task?.run(new AbortController().signal);
  now += 365 * DAY;
  await run();
  expect(await count()).toBe(1);
  now += 1;
  await run();
  expect(await count()).toBe(0);
  await db.close();
});

test("without a number of days activities are not deleted: Gitea's task is disabled by default", async () => {
  const db = await openTestDatabase();
  expect(open(db, 0, Date.now).tasks).toEqual([]);
  await db.close();
});
