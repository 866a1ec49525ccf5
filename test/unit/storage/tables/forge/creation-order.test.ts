import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database, Transaction } from "../../../../../storage/engine/database.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertMilestone } from "../../../../../storage/tables/forge/issues/milestones.ts";
import { insertLabels } from "../../../../../storage/tables/forge/repositories/labels.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { skipUnless } from "../../../../support/skip.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { openMigratedPostgres } from "../../../../support/storage/postgres.ts";

const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
const onServer = skipUnless(serverUrl, "CROFT_TEST_POSTGRES_URL names no PostgreSQL server");

type Repository = Awaited<ReturnType<typeof insertRepository>>;

describe.each(["sqlite", "server"] as const)("rows of one owner, on %s", (engine) => {
  const testHere = engine === "server" ? onServer : test;
  let db: Database;
  let repository: Repository;
  beforeAll(async () => {
    if (engine === "server" && serverUrl === undefined) return;
    db =
      engine === "server"
        ? await openMigratedPostgres(Date.now)
        : await openTestDatabase({ engine: "sqlite" });
    const name = `mira${Date.now()}`;
    const mira = await db.transaction((tx) => insertUser(tx, newUserRow(name)));
    const row = newRepositoryRow(mira, "notes", {});
    repository = await db.transaction((tx) => insertRepository(tx, row));
  });
  afterAll(() => db?.close());

  const label = { name: "bug", color: "ff0000", description: "", isExclusive: false };
  const milestone = { title: "1.0", description: "", isClosed: false, dueAt: undefined };
  const kinds: Record<string, (tx: Transaction) => Promise<number>> = {
    label: async (tx) =>
      (await insertLabels(tx, { repositoryId: repository.id }, [label]))[0]?.id ?? 0,
    milestone: async (tx) => (await insertMilestone(tx, repository.id, milestone)).id,
  };

  for (const [kind, insert] of Object.entries(kinds))
    testHere(`a ${kind} that is committed later has the higher id`, async () => {
      const committed: number[] = [];
      const gate = Promise.withResolvers<void>();
      const inserted = Promise.withResolvers<void>();
      const add = async (pause?: Promise<void>) => {
        const id = await db.transaction(async (tx) => {
          const made = await insert(tx);
          inserted.resolve();
          await pause;
          return made;
        });
        committed.push(id);
      };
      const slow = add(gate.promise);
      await inserted.promise;
      const quick = add();
      // Without the lock the quick transaction ends here, with the higher id.
      await Promise.race([quick, new Promise((resolve) => setTimeout(resolve, 300))]);
      gate.resolve();
      await Promise.all([slow, quick]);
      expect(committed).toHaveLength(2);
      expect(committed.toSorted((one, other) => one - other)).toEqual(committed);
    });
});
