import { describe, expect, test } from "vitest";
import { applyJq as applyJqWith, assertJq } from "../../../cli/output/jq.ts";
import { compileSmallJq } from "../../../cli/output/small-jq.ts";

const applyJq = (expression: string, input: unknown) =>
  applyJqWith(expression, input, (work) => work());

const users = [
  { id: 1, login: "boss", admin: true, tags: ["a", "b"], "full-name": null },
  { id: 2, login: "bob", admin: false, tags: [], "full-name": "Bob" },
];

const common = [
  ".",
  ".[]",
  ".[0]",
  ".[-1].login",
  ".[7]",
  ".[].login",
  ".[] | .login",
  ".[].tags[]",
  ".[].tags | length",
  "length",
  ".[0] | keys",
  '.[]."full-name"',
  '.[]["full-name"]',
  ".[] | select(.admin == true) | .login",
  '.[] | select(.login != "boss").id',
  '.[] | select(.login == "b|b")',
  ".[] | select(.id >= 2) | .login",
  ".[] | select(.id < 2)",
  ".[] | select(.admin)",
  ".[] | select(.missing == null) | .id",
];

describe("the small evaluator", () => {
  test.each(common)("answers %s as the real engine does", async (expression) => {
    const { raw } = await import("jq-wasm");
    const real = await raw(JSON.stringify(users), expression, ["-r", "-c"]);
    const printed = await applyJq(expression, users);
    expect(printed.trimEnd()).toBe(real.trimEnd());
  });

  test("leaves everything else to the real engine", () => {
    const others = [
      "map(.id)",
      ".[] | .id + 1",
      ".a // 1",
      "select(.a == .b)",
      ".[1:]",
      "..",
      '"x"',
      ".a?",
      "@csv",
      ".[] as $x | $x",
    ];
    for (const expression of others) expect(compileSmallJq(expression), expression).toBeUndefined();
    expect(compileSmallJq('.[] | select(.login == "boss").id')).toBeUndefined();
  });
});

describe("jq", () => {
  test("runs whole programs", async () => {
    expect(await applyJq("map(.id) | add", users)).toBe("3\n");
    expect(await applyJq("[.[] | {login, n: (.tags | length)}]", users)).toBe(
      '[{"login":"boss","n":2},{"login":"bob","n":0}]\n',
    );
  });

  test("prints nothing for no result", async () => {
    expect(await applyJq(".[] | select(.id > 9)", users)).toBe("");
    expect(await applyJq("empty", users)).toBe("");
  });

  test("reports an invalid expression or input as a usage error", async () => {
    await expect(applyJq("{{", users)).rejects.toMatchObject({ code: "usage" });
    await expect(applyJq(".login", users)).rejects.toMatchObject({
      code: "usage",
      message: '--jq: Cannot index array with string "login"',
    });
  });
});

test.each([
  [".[", '--jq: ".[" is not a jq expression'],
  [".[] | bar", '--jq: ".[] | bar" is not a jq expression: bar/0 is not defined'],
])("refuses %s in its own words", async (expression, message) => {
  await expect(assertJq(expression)).rejects.toMatchObject({ code: "usage", message });
});

test("a field of a list is refused with the form for lists", async () => {
  await expect(applyJq(".login", users)).rejects.toMatchObject({
    message: '--jq: Cannot index array with string "login"',
    details: { hint: "the output is a list: begin with .[]" },
  });
});
