import { expect, test } from "vitest";
import { compileFilter } from "../../../../daemon/workflows/filter-patterns.ts";

test.each([
  [["main"], "main", true],
  [["main"], "mainly", false],
  [["feature/*"], "feature/one", true],
  [["feature/*"], "feature/one/two", false],
  [["feature/**"], "feature/one/two", true],
  [["*"], "main", true],
  [["*"], "feature/one", false],
  [["**"], "feature/one", true],
  [["*feature"], "my-feature", true],
  [["v2*"], "v2.1", true],
  [["v[12].[0-9]+.[0-9]+"], "v1.10.1", true],
  [["v[12].[0-9]+.[0-9]+"], "v3.0.1", false],
  [["*.jsx?"], "page.js", true],
  [["*.jsx?"], "page.jsx", true],
  [["**.js"], "js/index.js", true],
  [["**/README.md"], "README.md", true],
  [["**/README.md"], "js/README.md", true],
  [["**/README.md"], "myREADME.md", false],
  [["docs/**/*.md"], "docs/a.md", true],
  [["docs/**/*.md"], "docs/deep/er/a.md", true],
  [["docs/**"], "docs/a/b.txt", true],
  [["releases/**", "!releases/**-alpha"], "releases/10-alpha", false],
  [["releases/**", "!releases/**-alpha"], "releases/10", true],
  [["!a"], "b", false],
  [["a\\*"], "a*", true],
  [["a\\*"], "ab", false],
  [["😀?"], "", true],
  [["b?".repeat(60)], "b".repeat(60), true],
  [["b?".repeat(60)], "b".repeat(61), false],
] as const)("matches the patterns %j against %s", (patterns, text, accepted) => {
  expect(compileFilter(patterns)?.(text)).toBe(accepted);
});

test.each([["[z-a]"], ["[open"], [""], ["x".repeat(256)], ["\\"]])("refuses %.20s", (pattern) => {
  expect(compileFilter([pattern])).toBeUndefined();
});
