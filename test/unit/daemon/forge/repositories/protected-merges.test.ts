import { afterAll, expect, test } from "vitest";
import {
  findRequiredChecks,
  judgeMerge,
  type MergeFacts,
} from "../../../../../daemon/forge/repositories/protected-merges.ts";
import { matchesProtectedFiles } from "../../../../../daemon/forge/repositories/protected-files.ts";
import { toUserId } from "../../../../../storage/tables/forge/ids.ts";
import type { BranchProtectionSettings } from "../../../../../storage/tables/forge/repositories/branch-protections.ts";
import type { CommitState } from "../../../../../storage/tables/forge/repositories/statuses.ts";
import { createTestCompute } from "../../../../support/forge/compute.ts";

const compute = createTestCompute();
afterAll(() => compute.close());

const toSettings = (
  flags: readonly string[],
  rest: Partial<BranchProtectionSettings> = {},
): BranchProtectionSettings => ({
  flags: Object.fromEntries(flags.map((flag) => [flag, true])),
  users: {},
  teams: {},
  texts: {},
  statusCheckContexts: [],
  requiredApprovals: 0,
  ...rest,
});
const noFacts: MergeFacts = {
  approvals: [],
  isRejected: false,
  isRequested: false,
  checks: [[]],
  isBehind: false,
  changesProtectedFiles: false,
};
const approval = (reviewer: number, isStale = false) => ({
  reviewerId: toUserId(reviewer),
  isStale,
});

test("a rule without requirements allows every merge", () => {
  const facts = { ...noFacts, isRejected: true, isRequested: true, isBehind: true };
  expect(judgeMerge(toSettings([]), facts)).toBeUndefined();
});

test.each<[string, BranchProtectionSettings, Partial<MergeFacts>, Partial<MergeFacts>]>([
  [
    "Not all required status checks successful",
    toSettings(["enable_status_check"]),
    {},
    { checks: [["success"]] },
  ],
  [
    "Does not have enough approvals",
    toSettings([], { requiredApprovals: 2 }),
    { approvals: [approval(1), approval(1)] },
    { approvals: [approval(1), approval(2, true)] },
  ],
  [
    "Does not have enough approvals",
    toSettings(["ignore_stale_approvals"], { requiredApprovals: 1 }),
    { approvals: [approval(1, true)] },
    { approvals: [approval(1)] },
  ],
  [
    "There are requested changes",
    toSettings(["block_on_rejected_reviews"]),
    { isRejected: true },
    { isRequested: true },
  ],
  [
    "There are official review requests",
    toSettings(["block_on_official_review_requests"]),
    { isRequested: true },
    { isRejected: true },
  ],
  [
    "The head branch is behind the base branch",
    toSettings(["block_on_outdated_branch"]),
    { isBehind: true },
    { isRejected: true },
  ],
  ["Changed protected files", toSettings([]), { changesProtectedFiles: true }, {}],
])("%s: the rule refuses a merge until its requirement is met", (text, settings, unmet, met) => {
  expect(judgeMerge(settings, { ...noFacts, ...unmet })).toBe(text);
  expect(judgeMerge(settings, { ...noFacts, ...met })).toBeUndefined();
});

test.each<[readonly string[], Readonly<Record<string, CommitState>>, boolean]>([
  [[], {}, false],
  [[], { a: "success" }, true],
  [[], { a: "success", b: "pending" }, false],
  [["ci/*"], { "ci/a": "success", "ci/b": "skipped", other: "failure" }, true],
  [["ci/*"], { "ci/a": "success", "ci/b": "failure" }, false],
  [["ci/*", "lint"], { "ci/a": "success" }, false],
  [["ci/*", "lint"], { "ci/a": "success", lint: "error" }, false],
  [["ci/*", "lint"], { "ci/a": "success", lint: "success" }, true],
  [["{a,b}"], { a: "success" }, true],
])("the checks %j with the statuses %j: passed is %s", async (contexts, states, isPassed) => {
  const settings = toSettings(["enable_status_check"], { statusCheckContexts: [...contexts] });
  const statuses = Object.entries(states).map(([context, state]) => ({ context, state }));
  const checks = await findRequiredChecks(compute, settings, statuses, "1");
  expect(judgeMerge(settings, { ...noFacts, checks }) === undefined).toBe(isPassed);
});

test.each([
  ["", ["a"], false],
  ["*.md; docs/**", ["README.md"], true],
  ["*.md; docs/**", ["Docs/a/b.txt"], true],
  ["*.md", ["src/README.md"], false],
  ["**.md", ["src/README.md", "a"], true],
  [" ; ;", ["a", ""], false],
])("the protected files %j and the changed files %j: %s", async (patterns, paths, isMatch) => {
  const settings = toSettings([], { texts: { protected_file_patterns: patterns } });
  expect(await matchesProtectedFiles(compute, settings, paths, "1")).toBe(isMatch);
});

test("hard patterns and many changed files leave the event loop to other work", async () => {
  const hard = Array.from({ length: 8 }, (_, at) => `{${"*a,".repeat(70)}*b}*?${at}`).join(";");
  const settings = toSettings([], { texts: { protected_file_patterns: hard } });
  const paths = Array.from({ length: 300 }, (_, at) => `${"a".repeat(200)}/${at}x`);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  expect(await matchesProtectedFiles(compute, settings, paths, "1")).toBe(false);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
});
