import { expect, test } from "vitest";
import { matchesPull } from "../../../../daemon/workflows/pull-triggers.ts";
import type { EventFilters } from "../../../../daemon/workflows/triggers.ts";

const activity = {
  types: ["synchronize", "synchronized"],
  baseBranch: "main",
  paths: ["src/a.ts"],
};

test.each<
  readonly [event: string, filters: EventFilters, changed: Partial<typeof activity>, boolean]
>([
  ["pull_request", {}, {}, true],
  ["pull_request", {}, { types: ["labeled"] }, false],
  ["pull_request_target", {}, { types: ["edited", "ready_for_review"] }, false],
  ["pull_request_review", {}, { types: ["dismissed"] }, true],
  ["pull_request", { types: ["synchronize"] }, {}, true],
  ["pull_request", { types: ["synchronized"] }, {}, true],
  ["pull_request", { types: ["opened"] }, {}, false],
  ["pull_request", { types: [] }, {}, false],
  ["pull_request", { branches: ["main"] }, {}, true],
  ["pull_request", { branches: ["release/**"] }, {}, false],
  ["pull_request", { branches: ["release/**"] }, { baseBranch: "release/1/x" }, true],
  ["pull_request", { branchesIgnore: ["ma*"] }, {}, false],
  ["pull_request", { paths: ["src/**"] }, {}, true],
  ["pull_request", { paths: ["docs/**"] }, {}, false],
  ["pull_request", { paths: ["**", "!src/**"] }, {}, false],
  ["pull_request", { pathsIgnore: ["src/**"] }, {}, false],
  ["pull_request", { pathsIgnore: ["src/**"] }, { paths: ["src/a.ts", "b"] }, true],
  ["pull_request", { paths: ["**"] }, { paths: [] }, false],
])("on.%s with the filters %j starts by %j: %s", (event, filters, changed, starts) => {
  expect(matchesPull({ event, filters, activity: { ...activity, ...changed } })).toBe(starts);
});

test("filters of paths match a change whose files are not known", () => {
  const filters = { paths: ["docs/**"] };
  const unknown = { ...activity, paths: undefined };
  expect(matchesPull({ event: "pull_request", filters, activity: unknown })).toBe(true);
});
