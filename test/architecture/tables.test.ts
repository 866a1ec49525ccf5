import { afterAll, describe, expect, test } from "vitest";
import type { Database } from "../../storage/engine/database.ts";
import { definedTables, toSnakeCase } from "../../storage/tables/table.ts";
import { openTestDatabase } from "../support/storage/database.ts";
import { readSources } from "./source-tree.ts";

interface SchemaColumn {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
}

/** Returns the columns of a table after all migrations. Columns of a key are never NULL. */
async function readColumns(db: Database, table: string): Promise<SchemaColumn[]> {
  if (db.dialect === "sqlite") {
    const rows = await db.all<{ name: string; type: string; notnull: number; pk: number }>(
      'SELECT name, type, "notnull", pk FROM pragma_table_info(?)',
      table,
    );
    return rows.map(({ name, type, notnull, pk }) => ({
      name,
      type,
      isNullable: notnull === 0 && pk === 0,
    }));
  }
  const rows = await db.all<{ name: string; type: string; nullable: string }>(
    `SELECT column_name AS name, data_type AS type, is_nullable AS nullable FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = ?`,
    table,
  );
  return rows.map(({ name, type, nullable }) => ({
    name,
    type: POSTGRES_TYPES.get(type) ?? type,
    isNullable: nullable === "YES",
  }));
}

const POSTGRES_TYPES: ReadonlyMap<string, string> = new Map([
  ["text", "TEXT"],
  ["bigint", "INTEGER"],
  ["double precision", "REAL"],
  ["bytea", "BLOB"],
]);

await Promise.all(
  readSources(["storage/tables"]).map(
    ({ path }) => import(/* @vite-ignore */ `../../${path}`) as Promise<unknown>,
  ),
);

describe.each(["sqlite", "postgres"] as const)("the defined tables, on %s", async (engine) => {
  const db = await openTestDatabase({ engine });
  afterAll(() => db.close());

  test("have the names, types and nullability that the migrations give their columns", async () => {
    const wrong: string[] = [];
    for (const { name: table, map } of definedTables) {
      const schema = new Map((await readColumns(db, table)).map((column) => [column.name, column]));
      for (const [member, column] of Object.entries(map)) {
        if (column.expression !== undefined) continue;
        const name = column.name ?? toSnakeCase(member);
        const { type, isNullable } = schema.get(name) ?? {};
        if (type !== column.stored || isNullable !== column.isNullable)
          wrong.push(
            `${table}.${name}: ${column.stored}, ${column.isNullable} in the map; ${type}, ${isNullable}`,
          );
      }
    }
    expect(wrong).toEqual([]);
  });

  test("select what the database has, with their joins and expressions", async () => {
    for (const { columns, from } of definedTables)
      expect(await db.all(`SELECT ${columns} FROM ${from} WHERE 1 = 0`)).toEqual([]);
  });
});

test("a table is defined once", () => {
  const names = definedTables.map(({ name }) => name);
  expect(names).toContain("forge_users");
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
