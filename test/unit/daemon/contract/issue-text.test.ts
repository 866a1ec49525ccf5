import { expect, test } from "vitest";
import { z } from "zod";
import { allEndpoints } from "../../../../daemon/contract/all.ts";
import { describeIssue } from "../../../../daemon/contract/issue-text.ts";

const messagesOf = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value, { error: describeIssue }).error?.issues.map(({ message }) => message) ??
  [];

test.each<[z.ZodType, unknown, string]>([
  [z.string(), undefined, "Field required"],
  [z.string(), 5, "Expected text, not a number"],
  [z.boolean(), "yes", "Expected true or false, not text"],
  [z.array(z.string()), {}, "Expected a list, not an object"],
  [z.object({}), null, "Expected an object, not null"],
  [z.int(), 1.5, "Expected a whole number without a fraction"],
  [z.uuid(), "x", "Expected an id such as 01912d4c-77aa-7cc4-9c2e-0123456789ab"],
  [z.iso.datetime(), "soon", "Expected a time such as 2026-11-20T09:30:00.000Z"],
  [z.string().regex(/^a$/), "b", "The text does not have the expected form"],
  [z.enum(["view", "download"]), "x", "Expected one of: view, download"],
  [z.enum(["view", "download"]), undefined, "Field required"],
  [z.string().min(1), "", "The text must not be empty"],
  [z.string().max(1000), "x".repeat(1001), "At most 1,000 characters"],
  [z.array(z.int()).max(1), [1, 2], "At most 1 entry"],
  [z.number().max(100), 101, "At most 100"],
  [z.number().gt(0), 0, "More than 0"],
  [z.union([z.string(), z.null()]), 5, "The value does not have an accepted form"],
  [z.strictObject({}), { a: 1 }, "Unknown: a"],
])("names the expected value: %#", (schema, value, expected) => {
  expect(messagesOf(schema, value)).toEqual([expected]);
});

test("no request of either API is refused with a text of the validation library", () => {
  const texts = ["", "x", "9".repeat(40), "\0", "é".repeat(2_000), ["x", "y"]];
  const values = [...texts, 5, -1, 1.5, 1e300, true, null, [], {}];
  const library =
    /^(?:Invalid (?:input|option|string|key|element|[A-Z])|Too (?:big|small)|Unrecognized)/;
  const found = new Set<string>();
  const check = (name: string, schema: unknown, junk: readonly unknown[]) => {
    if (!(schema instanceof z.ZodType)) return;
    const members = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
    const objects = junk.map((value) => Object.fromEntries(members.map((key) => [key, value])));
    for (const value of [{}, ...objects])
      for (const message of messagesOf(schema, value))
        if (library.test(message) || message === "") found.add(`${name}: ${message}`);
  };
  for (const { name, params, query, body } of allEndpoints) {
    check(name, params, texts);
    check(name, query, texts);
    check(name, body !== undefined && "fields" in body ? body.fields : body, values);
  }
  expect([...found]).toEqual([]);
});
