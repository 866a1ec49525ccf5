import type { SqlValue } from "../engine/database.ts";

/** A part of a statement with the values of its placeholders. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** A part of a statement that `sql` made; as a value of an update it is an expression, which other objects are not. */
export class SqlText implements Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];

  constructor(text: string, values: readonly SqlValue[]) {
    this.sql = text;
    this.values = values;
  }
}

type Part = SqlValue | boolean | Condition | readonly (string | number)[];

/**
 * Makes a part of a statement: sql`owner_id = ${id} AND name IN (${names})`. A value becomes a placeholder, a list one for
 * each value, and a condition stands in it with its values. An empty list is NULL: IN finds nothing, and NOT IN neither.
 */
export function sql(texts: TemplateStringsArray, ...parts: readonly Part[]): SqlText {
  let text = texts[0] ?? "";
  const values: SqlValue[] = [];
  for (const [index, part] of parts.entries()) {
    text += toText(part, values) + (texts[index + 1] ?? "");
  }
  return new SqlText(text, values);
}

/** Returns text of a statement that depends on no user: a column, a direction. */
export const raw = (text: string): SqlText => new SqlText(text, []);

/** Joins conditions with AND; without conditions every row fits. */
export function all(conditions: readonly Condition[]): SqlText {
  if (conditions.length === 0) return raw("1 = 1");
  return new SqlText(
    conditions.map((condition) => condition.sql).join(" AND "),
    conditions.flatMap((condition) => condition.values),
  );
}

function toText(part: Part, values: SqlValue[]): string {
  if (typeof part === "object" && part !== null) {
    if ("sql" in part) {
      values.push(...part.values);
      return part.sql;
    }
    if (Array.isArray(part)) {
      values.push(...(part as readonly SqlValue[]));
      return part.map(() => "?").join(", ") || "NULL";
    }
  }
  values.push(typeof part === "boolean" ? Number(part) : (part as SqlValue));
  return "?";
}
