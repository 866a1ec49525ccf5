import { describe, expect, test } from "vitest";
import {
  type MigratableDatabase,
  migrate,
  readMigrations,
} from "../../../../../storage/engine/migrate.ts";
import { openPostgres } from "../../../../../storage/engine/postgres.ts";
import { openSqlite } from "../../../../../storage/engine/sqlite.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { newUserRow } from "../../../../support/forge/forge-rows.ts";
import { createPostgresPool } from "../../../../support/storage/postgres.ts";

const clock = () => 9_000;
const open = {
  sqlite: async (): Promise<MigratableDatabase> => openSqlite({ path: ":memory:", clock }),
  postgres: async (): Promise<MigratableDatabase> =>
    openPostgres({ url: await createPostgresPool(), clock }),
};

describe.each(["sqlite", "postgres"] as const)(
  "workflow triggers after an upgrade, on %s",
  (engine) => {
    test.each([
      ["without repositories", undefined, []],
      ["with empty repositories only", true, []],
      ["with a repository that has commits", false, ['{"after":0}']],
    ])(
      "the migration reads workflows again in a home %s when needed",
      async (_home, isEmpty, jobs) => {
        const db = await open[engine]();
        const all = readMigrations();
        const at = all.findIndex(({ name }) => name === "forge_action_triggers");
        await migrate(db, all.slice(0, at));
        if (isEmpty !== undefined)
          await db.transaction(async (tx) => {
            const mira = await insertUser(tx, newUserRow("mira"));
            // As the schema was: the function writes columns of later migrations.
            await tx.run(
              `INSERT INTO forge_repositories (id, owner_id, name, lower_name, description, is_private, is_template,
                 settings, is_empty, branch_count, default_branch, object_format, trust_model, licenses, size_kib, path,
                 needs_move, created_at, updated_at)
               VALUES (1, ?, 'cabin', 'cabin', '', 0, 0, '{}', ?, 0, 'main', 'sha1', 'default', '[]', 0,
                 'mira/cabin.git', 0, 0, 0)`,
              mira.id,
              Number(isEmpty),
            );
          });
        await migrate(db, all);
        await migrate(db, all);
        const rows = await db.all<{ payload: string }>(
          "SELECT payload FROM jobs WHERE kind = 'forge.actions.triggers.all'",
        );
        expect(rows.map(({ payload }) => payload)).toEqual(jobs);
        await db.close();
      },
    );
  },
);
