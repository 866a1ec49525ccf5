import { expect, test } from "vitest";
import { createMasker } from "../../../cli/runner/report/masker.ts";

function mask(secret: string, text: string): string {
  const masker = createMasker();
  masker.add(secret);
  return masker.mask(text);
}

test.each([
  ["a secret within a word", "hunter2", "xhunter2y", "x***y"],
  [
    "each line of a secret of several lines",
    "first line\nsecond line\n",
    "a second line b",
    "a *** b",
  ],
  [
    "a secret in base64",
    "hunter2-hunter2",
    Buffer.from("hunter2-hunter2").toString("base64"),
    "***",
  ],
  ["a secret in a URL", "p@ss word/1", "?key=p%40ss%20word%2F1&x", "?key=***&x"],
  ["a secret in JSON", 'quo"ted-secret', '{"key":"quo\\"ted-secret"}', '{"key":"***"}'],
  [
    "a secret in JSON of ASCII alone",
    "wörd-of-mira",
    '{"key":"w\\u00f6rd-of-mira"}',
    '{"key":"***"}',
  ],
  ["a secret in a URL that keeps slashes", "a/b c", "?k=a/b%20c&x", "?k=***&x"],
  ["a secret in a form", "a/b c", "k=a%2Fb+c&x", "k=***&x"],
  ["two that stand side by side", "hunter2", "hunter2hunter2", "***"],
  ["nothing for an empty secret", "", "text", "text"],
  ["no brace for a document of several lines", '{\n  "key": "abcdef"\n}', "{ }", "{ }"],
])("masks %s", (_, secret, text, masked) => {
  expect(mask(secret, text)).toBe(masked);
});

test.each([0, 1, 2])("masks a secret in base64 behind %i other bytes", (before) => {
  const secret = "correct-horse-battery";
  const encoded = Buffer.from(`${"x".repeat(before)}${secret}yz`).toString("base64");
  const masked = mask(secret, encoded);
  expect(masked).toContain("***");
  expect(masked.length).toBeLessThan(14);
});

test("masks overlapping secrets as one", () => {
  const masker = createMasker();
  masker.add("abcdef");
  masker.add("defghi");
  expect(masker.mask("1abcdefghi2")).toBe("1***2");
});

test("values that are added line by line are masked at once and later", () => {
  const masker = createMasker();
  const names = Array.from({ length: 300 }, (_, index) => `value-${index}-of-many`);
  for (const name of names) {
    masker.add(name);
    expect(masker.mask(`<${name}>`)).toBe("<***>");
  }
  expect(masker.mask(names.join(" "))).toBe(names.map(() => "***").join(" "));
  expect(masker.mask("value-300-of-many")).toBe("value-300-of-many");
});

test("a secret is masked behind twenty thousand others", () => {
  const masker = createMasker();
  for (let count = 0; count < 20_000; count += 1)
    expect(masker.add(`v${count.toString(36)}`)).toBe(true);
  masker.add("hunter2-secret");
  expect(masker.mask("a hunter2-secret b")).toBe("a *** b");
});

test.each([
  ["a value that is too long", ["x".repeat(5_000_000)]],
  ["too many values", Array.from({ length: 100_001 }, (_, count) => `${count}`)],
])("after %s no text is shown", (_, secrets) => {
  const masker = createMasker();
  expect(masker.mask("a text")).toBe("a text");
  expect(secrets.map((secret) => masker.add(secret)).at(-1)).toBe(false);
  expect(masker.mask("a text")).toBe("[not shown: the job has too many or too long masks]");
  expect(masker.mask("")).toBe("");
});
