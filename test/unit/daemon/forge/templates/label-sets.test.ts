import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseLabelSet } from "../../../../../daemon/forge/templates/label-sets.ts";
import { cases } from "../../../../support/property.ts";

describe("a label set", () => {
  test("a label set is YAML with a list of labels, in their order", () => {
    expect(
      parseLabelSet(
        'labels:\n  - name: b/c\n    color: "#AbC"\n    description: d\n    exclusive: true\n    exclusive_order: 3\n  - name: a\n    color: 112233\n',
      ),
    ).toEqual([
      { name: "b/c", color: "aabbcc", description: "d", exclusive: true },
      { name: "a", color: "112233", description: "", exclusive: false },
    ]);
  });

  test("a label set may be lines of colour, name and description", () => {
    expect(parseLabelSet("#ee0701 help wanted ; Need; help\n\n#FFF x\n")).toEqual([
      { name: "help wanted", color: "ee0701", description: "Need; help", exclusive: false },
      { name: "x", color: "ffffff", description: "", exclusive: false },
    ]);
  });

  test.each([
    "",
    "labels: [",
    "labels: 1",
    "- a",
    "labels:\n  - name: a\n    color: red\n",
    "labels:\n  - color: '#fff'\n",
    "#ee0701\n#fff x",
  ])("an invalid label set is refused: %j", (text) => expect(parseLabelSet(text)).toBeUndefined());

  test("reading a label set terminates for any file", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `labels:\n${text}`),
          fc.string().map((text) => `#fff ${text}`),
        ),
        (text) => {
          for (const label of parseLabelSet(text) ?? [])
            expect(label.color).toMatch(/^[0-9a-f]{6}$/);
        },
      ),
      cases(300),
    );
  });
});
