import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { fits, toCard, toTable } from "../../../cli/output/table.ts";

const plain = (text: string) => text;

describe("a table", () => {
  test("aligns its columns by the displayed width", () => {
    const rows = [
      ["1", "Zoë"],
      ["22", "日本"],
    ];
    expect(toTable({ headers: ["ID", "NAME"], rows, width: 40, paintHeader: plain })).toBe(
      "ID  NAME\n1   Zoë\n22  日本\n",
    );
  });

  test.each([80, 40, 24])("a table is no wider than %i cells", (width) => {
    const rows = [["1", "x".repeat(200), "日".repeat(60), "short"]];
    const text = toTable({
      headers: ["ID", "TITLE", "NAME", "STATE"],
      rows,
      width,
      paintHeader: plain,
    });
    for (const line of text.trimEnd().split("\n"))
      expect(stringWidth(line)).toBeLessThanOrEqual(width);
    expect(text).toContain("…");
  });

  test("cuts between letters, not inside of them", () => {
    const family = "👩‍👩‍👧".repeat(20);
    const text = toTable({ headers: ["NAME"], rows: [[family]], width: 11, paintHeader: plain });
    expect(text.split("\n")[1]).toBe(`${"👩‍👩‍👧".repeat(5)}…`);
  });
});

test("a table that is too wide leaves out the columns without a value", () => {
  const headers = ["ID", "FULL NAME", "EMAIL"];
  const rows = [["1", "", "keeper@example.org"]];
  const painted: number[] = [];
  const paintCell = (text: string, _row: number, column: number) => {
    painted.push(column);
    return text;
  };
  const print = (width: number) =>
    toTable({ headers, rows, width, paintHeader: plain, paintCell }).split("\n")[0];
  expect(print(80)).toBe("ID  FULL NAME  EMAIL");
  expect(print(24)).toBe("ID  EMAIL");
  expect(painted).toEqual([0, 1, 2, 0, 2]);
});

test("an id is never cut; a table whose other columns become unreadable does not fit", () => {
  const id = "01a2078a-c1fe-7725-9f75-eab37bdaaa06";
  const headers = ["NAME", "STATUS", "ID"];
  const fixed = [false, false, true];
  const rows = [["a long name of a connection", "connected", id]];
  expect(toTable({ headers, fixed, rows, width: 60, paintHeader: plain })).toContain(id);
  expect(fits({ headers, fixed, rows, width: 60 })).toBe(true);
  expect(fits({ headers, fixed, rows, width: 40 })).toBe(false);
});

test("a card aligns its values", () => {
  expect(
    toCard(
      [
        ["id", "1"],
        ["full name", "Mira"],
      ],
      plain,
    ),
  ).toBe("id:        1\nfull name: Mira\n");
});
