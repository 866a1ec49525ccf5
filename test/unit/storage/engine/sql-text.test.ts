import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toNumbered, toStatements, toTokens } from "../../../../storage/engine/sql-text.ts";
import { cases } from "../../../support/property.ts";

const pieces = fc.constantFrom(
  "?",
  "'",
  '"',
  "--",
  "/*",
  "*/",
  "$$",
  "$a$",
  "\n",
  ";",
  " ",
  "x",
  "''",
  '""',
  "\\",
  "é",
  "🦊",
  "(",
  ")",
);
const hostileSql = fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(""));

describe("tokens", () => {
  test("joined parts equal the text, for any text", () => {
    fc.assert(
      fc.property(hostileSql, (sql) => {
        expect(
          toTokens(sql)
            .map((token) => token.text)
            .join(""),
        ).toBe(sql);
      }),
      cases(),
    );
  });

  test.each([
    ["'it''s ?'", "quoted"],
    ['"a ""b"" ?"', "quoted"],
    ["$$ ? ; ' $$", "quoted"],
    ["$body$ ? $$ ; $body$", "quoted"],
    ["-- why?", "comment"],
    ["/* ?\n ; */", "comment"],
    ["größe_1", "word"],
    [" \n\t", "space"],
  ])("%s is one token", (sql, kind) => {
    expect(toTokens(sql)).toEqual([{ kind, text: sql }]);
  });

  test("take a time that grows with the length alone", () => {
    const sql = "'".repeat(50_001) + "/*".repeat(50_000) + "$".repeat(50_000);
    expect(toTokens(sql).length).toBeGreaterThan(0);
  });
});

describe("placeholders", () => {
  test("placeholders are numbered from left to right", () => {
    expect(toNumbered("SELECT ? WHERE a=? AND b IN (?,?)")).toBe(
      "SELECT $1 WHERE a=$2 AND b IN ($3,$4)",
    );
  });

  test("question marks in strings, quoted names and comments are not placeholders", () => {
    const sql = `SELECT 'a?' , "b?" -- c?\n /* d? */ FROM t WHERE e = ?`;
    expect(toNumbered(sql)).toBe(`SELECT 'a?' , "b?" -- c?\n /* d? */ FROM t WHERE e = $1`);
  });

  test("without them the text stays as it is", () => {
    fc.assert(
      fc.property(
        hostileSql.filter((sql) => !sql.includes("?")),
        (sql) => {
          expect(toNumbered(sql)).toBe(sql);
        },
      ),
      cases(),
    );
  });
});

describe("statements of a script", () => {
  test("statements of a script are cut at semicolons outside of strings and comments", () => {
    const script =
      "-- head; still head\nCREATE TABLE a (b TEXT DEFAULT ';');\n\n;INSERT INTO a VALUES (';--');\n";
    expect(toStatements(script)).toEqual([
      "-- head; still head\nCREATE TABLE a (b TEXT DEFAULT ';')",
      "INSERT INTO a VALUES (';--')",
    ]);
  });

  test("a text of comments only is not a statement", () => {
    expect(toStatements("-- nothing\n/* ; */ ;; \n")).toEqual([]);
  });

  test("a trigger stays whole, with a CASE in its body", () => {
    const trigger =
      "CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE a SET b = CASE WHEN 1 THEN 2 END; DELETE FROM c; END";
    expect(toStatements(`${trigger};\nSELECT 1;`)).toEqual([trigger, "SELECT 1"]);
  });

  test("a function's dollar-quoted body stays whole", () => {
    const made = "CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN x; y; END $$ LANGUAGE plpgsql";
    expect(toStatements(`${made}; SELECT 1`)).toEqual([made, "SELECT 1"]);
  });
});
