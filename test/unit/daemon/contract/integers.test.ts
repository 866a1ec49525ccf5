import { expect, test } from "vitest";
import { z } from "zod";
import { allEndpoints } from "../../../../daemon/contract/all.ts";

/** Returns the places of a JSON schema that take any number. */
function findNumbers(schema: unknown, place: string): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const own = [Reflect.get(schema, "type")].flat().includes("number") ? [place] : [];
  return [
    ...own,
    ...Object.entries(schema).flatMap(([name, part]) => findNumbers(part, `${place}/${name}`)),
  ];
}

test("no request takes a fraction: numbers of bodies, queries and paths are integers by type", () => {
  const found = allEndpoints.flatMap(({ method, path, body, query, params }) =>
    [body, query, params].flatMap((schema) =>
      schema instanceof z.ZodType
        ? findNumbers(
            z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }),
            `${method} ${path}`,
          )
        : [],
    ),
  );
  expect(found).toEqual([]);
});
