import { expect, test } from "vitest";
import { productRooms, readSources, visitNodes } from "./source-tree.ts";

/** SQL is where its tables are, and in the housekeeping of the engines; the instance lock is a transaction that never ends. */
const homes = /^storage\/((tables|migrations|engine)\/|instance-lock\.ts$)/;

const statements = [
  /\bSELECT\s[^]*\sFROM\s/,
  /\bSELECT\s+(count|coalesce|max|min|sum|\d)/i,
  /\bINSERT\s+(OR\s+\w+\s+)?INTO\s+\w+/,
  /\bUPDATE\s+\w+\s+SET\s/,
  /\bDELETE\s+FROM\s+\w+/,
  /\b(CREATE|ALTER|DROP)\s+(UNIQUE\s+|VIRTUAL\s+|TEMP\s+)?(TABLE|INDEX|VIEW|TRIGGER)\b/,
  /^\s*PRAGMA\s+\w+/i,
  /^\s*BEGIN(\s+(IMMEDIATE|EXCLUSIVE|TRANSACTION))?\s*;?\s*$/,
  /^\s*(insert\s+into\s+\w+\s*\(|update\s+\w+\s+set\s+\w+\s*=|delete\s+from\s+\w+\s+where\s|select\s[^]*\sfrom\s+\w+\s+(where|order|limit|join)\s)/,
];

test("only storage's tables, migrations and engines contain SQL", () => {
  const wrong: string[] = [];
  for (const source of readSources([...productRooms, "bin"]).filter(
    ({ path }) => !homes.test(path),
  )) {
    const inspect = (text: string, start: number) => {
      if (statements.some((statement) => statement.test(text))) {
        wrong.push(`${source.path}:${source.lineAt(start)} ${text.trim().slice(0, 60)}`);
      }
    };
    visitNodes(source, {
      Literal({ value, start }) {
        if (typeof value === "string") inspect(value, start);
      },
      TemplateLiteral({ quasis, start }) {
        inspect(quasis.map((quasi) => quasi.value.cooked ?? "").join("x"), start);
      },
    });
  }
  expect(wrong).toEqual([]);
});

test("queries list their columns: a column added later must not change their result", () => {
  const wrong: string[] = [];
  for (const source of readSources(["storage/tables"])) {
    for (const [match] of source.text.matchAll(/\bSELECT\s+(\w+\.)?\*/gi))
      wrong.push(`${source.path} ${match}`);
  }
  expect(wrong).toEqual([]);
});
