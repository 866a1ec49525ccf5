import { describe, expect, test } from "vitest";
import { createSharedSchemas, toTypeName } from "../../../../daemon/http/shared-schemas.ts";

const label = {
  type: "object",
  properties: { id: { type: "integer" }, name: { type: "string" }, colour: { type: "string" } },
  required: ["id", "name", "colour"],
  additionalProperties: false,
};
const issue = {
  type: "object",
  properties: { title: { type: "string" }, labels: { type: "array", items: label } },
  required: ["title", "labels"],
};
const answer = (schema: object) => ({ responses: { 200: { content: { json: { schema } } } } });

function shareAll(parts: readonly object[]) {
  const schemas = createSharedSchemas();
  for (const part of parts) schemas.look(part, "Issue");
  return { parts: parts.map((part) => schemas.share(part)), components: schemas.components };
}

describe("schemas of a document", () => {
  test("that occur several times are written once, under the name of their member", () => {
    const { parts, components } = shareAll([answer(issue), answer(label)]);
    const shared = { $ref: "#/components/schemas/Label" };
    expect(components).toEqual({ Label: label });
    expect(parts[1]).toEqual(answer(shared));
    expect(parts[0]).toEqual(
      answer({
        ...issue,
        properties: { ...issue.properties, labels: { type: "array", items: shared } },
      }),
    );
  });

  test("that occur once stay where they are, as do small ones", () => {
    const small = { type: "object", properties: { id: { type: "integer" } } };
    const given = [answer(issue), answer(small), answer(small)];
    expect(shareAll(given)).toEqual({ parts: given, components: {} });
  });

  test("hold shared ones in turn, and those of one name are numbered", () => {
    const other = { ...label, required: ["id", "name"] };
    const { components } = shareAll([issue, issue, label, other, other].map(answer));
    expect(Object.keys(components).toSorted()).toEqual(["Issue", "Issue2", "Label"]);
    expect(JSON.stringify(components["Issue"])).toContain("#/components/schemas/Label");
  });

  test("of refusals have a name of their own", () => {
    const refusal = { responses: { 404: { content: { json: { schema: label } } } } };
    expect(Object.keys(shareAll([refusal, refusal]).components)).toEqual(["Error"]);
  });
});

test.each([
  ["repos/labels", "RepoLabel"],
  ["tracked_time", "TrackedTime"],
  ["repositories", "Repository"],
  ["repos/statuses", "RepoStatus"],
  ["repos/branches", "RepoBranch"],
  ["status", "Status"],
])("%s is of the type %s", (name, type) => {
  expect(toTypeName(name)).toBe(type);
});
