import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../storage/engine/database.ts";
import { readMigrations } from "../../../../storage/engine/migrate.ts";
import { toStatements, toTokens } from "../../../../storage/engine/sql-text.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const migrations = readMigrations();

describe.each(migrations)("migration $version, $name", ({ script }) => {
  const tokens = toTokens(script).filter(
    (token) => token.kind !== "space" && token.kind !== "comment",
  );

  test("writes types in capitals, or PostgreSQL would get another type", () => {
    const lowerCase = tokens.filter((token) => /^(?:integer|int|text|blob|real)$/.test(token.text));
    expect(lowerCase).toEqual([]);
  });

  test("makes STRICT tables only", () => {
    for (const statement of toStatements(script)) {
      const bare = toTokens(statement).filter((token) => token.kind !== "comment");
      const text = bare
        .map((token) => token.text)
        .join("")
        .trim();
      if (text.startsWith("CREATE TABLE"))
        expect(text).toMatch(/\)\s*(?:WITHOUT ROWID,\s*)?STRICT$/);
    }
  });
});

describe("the migrated schema", () => {
  let sqlite: Database;
  let postgres: Database;

  beforeAll(async () => {
    sqlite = await openTestDatabase({ engine: "sqlite" });
    postgres = await openTestDatabase({ engine: "postgres" });
  });
  afterAll(async () => {
    await sqlite.close();
    await postgres.close();
  });

  test("the migrated schema has the same columns, in the same order, on both engines", async () => {
    const embedded = await sqlite.all(
      `SELECT t.name AS "table", c.name AS "column", c."notnull" AS required
       FROM pragma_table_list t, pragma_table_info(t.name) c
       WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.pk = 0
       ORDER BY t.name, c.cid`,
    );
    const server = await postgres.all(
      `SELECT c.table_name::text AS "table", c.column_name::text AS "column", CASE c.is_nullable WHEN 'NO' THEN 1 ELSE 0 END AS required
       FROM information_schema.columns c
       WHERE c.table_schema = current_schema() AND c.is_generated = 'NEVER' AND NOT EXISTS (
         SELECT 1 FROM information_schema.key_column_usage k JOIN information_schema.table_constraints p USING (constraint_name)
         WHERE p.constraint_type = 'PRIMARY KEY' AND k.table_name = c.table_name AND k.column_name = c.column_name)
         -- SQLite keeps them in the virtual tables of its indexes.
         AND (c.table_name, c.column_name) NOT IN (('vault_search_entries', 'folded'), ('forge_issues', 'grams'))
       ORDER BY c.table_name::text COLLATE "C", c.ordinal_position`,
    );
    expect(server).toEqual(embedded);
  });

  test("the migrated schema has the same unique indexes, by their columns, on both engines", async () => {
    const embedded = await sqlite.all(
      `SELECT t.name || ':' || (SELECT group_concat(coalesce(c.name, '?'), ',') FROM pragma_index_info(i.name) c) AS unique_columns
       FROM pragma_table_list t, pragma_index_list(t.name) i WHERE t.schema = 'main' AND t.type = 'table' AND i."unique" = 1 AND i.origin <> 'pk' ORDER BY 1`,
    );
    const server = await postgres.all(
      `SELECT t.relname || ':' || (SELECT string_agg(coalesce(a.attname, '?'), ',' ORDER BY k.position)
         FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, position)
         LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number AND k.number > 0) AS unique_columns
       FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
       WHERE i.indisunique AND NOT i.indisprimary AND t.relnamespace = current_schema()::regnamespace ORDER BY 1`,
    );
    expect(new Set(server.map((row) => row["unique_columns"]))).toEqual(
      new Set(embedded.map((row) => row["unique_columns"])),
    );
  });
});
