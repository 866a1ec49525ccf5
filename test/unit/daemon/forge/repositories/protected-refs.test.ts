import { afterAll, expect, test } from "vitest";
import { createTestCompute } from "../../../../support/forge/compute.ts";
import { matchNames } from "../../../../../daemon/forge/repositories/name-patterns.ts";
import { findRules } from "../../../../../daemon/forge/repositories/protected-refs.ts";
import type { BranchProtection } from "../../../../../storage/tables/forge/repositories/branch-protections.ts";
import { toUserId } from "../../../../../storage/tables/forge/ids.ts";

const compute = createTestCompute();
afterAll(() => compute.close());

const repository = { ownerId: toUserId(1) };
const toRule = (ruleName: string, priority = 0) => ({ ruleName, priority }) as BranchProtection;

async function ruleNameOf(rules: readonly BranchProtection[], branch: string) {
  return (await findRules(compute, repository, rules, [branch]))(branch)?.ruleName;
}

test.each([
  ["release/*", "release/1", true],
  ["release/*", "release/1/a", false],
  ["release/**", "release/1/a", true],
  ["{dev,main}", "main", true],
  ["m?in", "main", true],
  ["main", "Main", false],
  ["[!m]ain", "main", false],
])("the rule %s and the branch %s: %s", async (ruleName, branch, isMatch) => {
  expect(await ruleNameOf([toRule(ruleName)], branch)).toBe(isMatch ? ruleName : undefined);
});

test("the first matching rule is the effective one, and a name precedes patterns of its priority", async () => {
  const rules = [toRule("m*", 1), toRule("main", 1), toRule("*", 2)];
  expect(await ruleNameOf(rules, "main")).toBe("main");
  expect(await ruleNameOf(rules, "more")).toBe("m*");
  expect(await ruleNameOf(rules, "other")).toBe("*");
  expect(await ruleNameOf([toRule("m*", 1), toRule("main", 2)], "main")).toBe("m*");
});

test("a hundred hard rules and fifty branches leave the event loop to other work", async () => {
  const hard = (at: number) => `{${"*a,".repeat(70)}*b}*?${at}`;
  const rules = Array.from({ length: 100 }, (_, at) => toRule(hard(at)));
  const branches = Array.from({ length: 50 }, (_, at) => `${"a".repeat(240)}/${at}x`);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const ruleOf = await findRules(compute, repository, [...rules, toRule("*/49x")], branches);
  clearInterval(timer);
  expect(branches.map((branch) => ruleOf(branch)?.ruleName).filter(Boolean)).toEqual(["*/49x"]);
  expect(turns).toBeGreaterThan(20);
});

test("rules without wildcards cost nothing to match in a thread", () => {
  const patterns = Array.from({ length: 100 }, (_, at) => `branch-${at}`);
  expect(matchNames.cost({ kind: "rules", patterns, names: ["a".repeat(240)] })).toBe(0);
});
