import { describe, expect, test } from "vitest";
import {
  evaluate,
  evaluateCondition,
  evaluateTemplate,
} from "../../../../daemon/workflows/expressions/evaluate.ts";
import type { ExpressionValue } from "../../../../daemon/workflows/expressions/values.ts";

const contexts = {
  github: { ref: "refs/heads/main", event_name: "push", actor: "Mira" },
  matrix: { os: ["linux", "mac"], version: 22 },
  fruits: [
    { name: "apple", quantity: 1 },
    { name: "pear", quantity: 0 },
    { quantity: 3 },
  ] as readonly ExpressionValue[],
  empty: {},
};

test.each<[string, ExpressionValue]>([
  ["null", null],
  ["true", true],
  ["-9.2", -9.2],
  ["0xff", 255],
  ["-2.99e-2", -0.0299],
  ["'It''s open source!'", "It's open source!"],
  ["1 == 1.0", true],
  ["'0b11' == 3", false],
  ["'0x10' == 16 && '0o17' == 15", true],
  ["'Linux' == 'linux'", true],
  ["'1' == 1", true],
  ["null == 0", true],
  ["true == 1", true],
  ["'' == 0", true],
  ["'a' == 0", false],
  ["'a' != 'b'", true],
  ["2 < 10", true],
  ["'2' < 10", true],
  ["'b' > 'A'", true],
  ["'x' < 1", false],
  ["!true", false],
  ["!'' && 'yes'", "yes"],
  ["false || 'fallback'", "fallback"],
  ["true && 1 || 2", 1],
  ["(1 == 2) == false", true],
  ["github.ref", "refs/heads/main"],
  ["GitHub.Event_Name", "push"],
  ["github['actor']", "Mira"],
  ["github.missing", null],
  ["github.missing.deeper", null],
  ["matrix.os[1]", "mac"],
  ["matrix.os[7]", null],
  ["fruits.*.name", ["apple", "pear"]],
  ["join(fruits.*.name, '+')", "apple+pear"],
  ["contains('Hello world', 'WORLD')", true],
  ['contains(fromJSON(\'["push", "pull"]\'), github.event_name)', true],
  ["contains(fruits.*.name, 'appl')", false],
  ["startsWith(github.ref, 'refs/heads/')", true],
  ["endsWith(github.ref, 'MAIN')", true],
  ["format('{0} {{{1}}}', 'a', 2)", "a {2}"],
  ["join(matrix.os)", "linux,mac"],
  ["toJSON(matrix.version)", "22"],
  ["fromJSON('{\"a\": [1]}').a[0]", 1],
  ["fromJSON('{\"__proto__\": 1}').toString", null],
  ["empty.constructor", null],
])("%s", (text, value) => {
  expect(evaluate(text, { contexts })).toEqual(value);
});

test.each([
  ["1 +", "unexpected character"],
  ["", "ends too early"],
  ["a.b.", "ends before"],
  ["contains('a')", "contains takes 2 values, not 1"],
  ["unheard()", "unknown function"],
  ["secret.KEY", "unknown name"],
  ["'open", "unexpected character"],
  ["success()", "only in a condition"],
  ["fromJSON('{')", "not JSON"],
  ["format('{1}', 1)", "no value for {1}"],
  [`${"(".repeat(1_000)}1${")".repeat(1_000)}`, "at most 50 deep"],
  [`${"!".repeat(1_000)}1`, "at most 50 deep"],
  [`github${".a".repeat(1_000)}`, "at most 50 deep"],
  [`1${" || 1".repeat(2_000)}`, "at most 500 operators"],
  ["1".repeat(30_000), "at most 21000 characters"],
])("the expression %.30s is refused", (text, message) => {
  expect(() => evaluate(text, { contexts })).toThrow(message);
});

test("the result of nested calls is bounded", () => {
  let text = "'0123456789'";
  for (let level = 0; level < 12; level += 1)
    text = `format('{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}', ${text})`;
  expect(() => evaluate(text, { contexts })).toThrow("at most 1048576 characters");
});

test("toJSON refuses a value that is nested too deeply instead of overflowing the stack", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const scope = { contexts: { inputs: { deep } } };
  expect(() => evaluate("toJSON(fromJSON(inputs.deep))", scope)).toThrow(/too deeply|not JSON/);
});

describe("templates", () => {
  test("a template that is one expression keeps its type", () => {
    expect(evaluateTemplate("${{ matrix.os }}", { contexts })).toEqual(["linux", "mac"]);
  });
  test("a template joins expressions with the text around them", () => {
    expect(evaluateTemplate("a ${{ 1 }}-${{ '}}' }} b", { contexts })).toBe("a 1-}} b");
  });
  test("a template with an unclosed expression is refused", () => {
    expect(() => evaluateTemplate("${{ 1 ", { contexts })).toThrow("not closed");
  });
});

test.each([
  [undefined, "success", true],
  [undefined, "failure", false],
  ["", "failure", false],
  ["github.actor == 'mira'", "success", true],
  ["github.actor == 'mira'", "failure", false],
  ["always()", "cancelled", true],
  ["failure() && github.actor == 'mira'", "failure", true],
  ["${{ failure() }}", "success", false],
  ["${{ !cancelled() }}", "failure", true],
  ["cancelled()", "cancelled", true],
  ["${{ github.actor }}", "success", true],
] as const)("evaluates the condition %s after %s", (condition, state, holds) => {
  expect(evaluateCondition(condition, { contexts, state })).toBe(holds);
});
