import { expect, test } from "vitest";
import { z } from "zod";
import { StorageError } from "../../../../storage/engine/database.ts";
import { parseColumn } from "../../../../storage/engine/json-column.ts";

const schema = z.object({ name: z.string(), size: z.int().default(0) });

test("a column of an earlier version gets the defaults of its schema", () => {
  expect(parseColumn(schema, '{"name":"a","former":1}', "t.c")).toEqual({ name: "a", size: 0 });
});

test.each(["", "{", "null", '{"name":1}'])("the text %j is reported as corrupt", (text) => {
  expect(() => parseColumn(schema, text, "t.c")).toThrow(
    expect.objectContaining({ name: new StorageError("corrupt", "").name, code: "corrupt" }),
  );
});
