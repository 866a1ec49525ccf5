import { describe, expect, test } from "vitest";
import { findMentionedNames } from "../../../../../daemon/forge/notifications/notify.ts";
import { floods, longRuns } from "../../../../support/floods.ts";

/** The longest text of an issue. */
const TEXT_MAX = 262_144;

describe("mentions", () => {
  test.each<[string, string[]]>([
    ["@mira and @Nora: look, (@jo)", ["mira", "nora", "jo"]],
    ["mira@example.org, a.b+c@d, x/y@z", []],
    ["`@mira` and ``@nora``", []],
    ["```\n@mira\n```\n@nora", ["nora"]],
    ["~~~\n@mira\n```\n@nora", []],
    ["    @mira", ["mira"]],
    ["@-mira @", []],
    ["mail@a @b", ["b"]],
  ])("the text %j mentions %j", (text, names) => expect(findMentionedNames(text)).toEqual(names));

  test("at most fifty mentions of a text are notified", () => {
    const text = Array.from({ length: 100 }, (_, at) => `@p${at}`).join(" ");
    expect(findMentionedNames(text)).toHaveLength(50);
  });

  // A parser that looks back at every character would take minutes for the longest accepted text.
  test.each(Object.entries({ ...floods, ...longRuns }))(
    "%s is parsed in bounded time",
    (_name, flood) => {
      expect(findMentionedNames(flood(TEXT_MAX)).length).toBeLessThanOrEqual(50);
    },
  );
});
