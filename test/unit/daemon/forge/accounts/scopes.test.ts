import { scopeCategories } from "../../../../../daemon/contract/forge/token-scopes.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  allows,
  isWithin,
  parseScope,
  toScopeWords,
  type TokenScope,
} from "../../../../../daemon/forge/accounts/scopes.ts";
import { cases } from "../../../../support/property.ts";

const words = fc.array(
  fc.oneof(
    fc.constantFrom("all", "public-only", ""),
    fc
      .tuple(fc.constantFrom("read", "write"), fc.constantFrom(...scopeCategories))
      .map((pair) => pair.join(":")),
  ),
  { maxLength: 12 },
);

const scopeOf = (list: readonly string[]): TokenScope => {
  const parsed = parseScope(list);
  if (parsed.kind === "invalid") throw new Error(`invalid: ${parsed.word}`);
  return parsed.scope;
};

describe("scopes", () => {
  test.each([
    [
      ["read:user", "write:user", "public-only"],
      ["public-only", "write:user"],
    ],
    [["write:user", "read:user"], ["write:user"]],
    [
      ["read:user", "write:admin"],
      ["write:admin", "read:user"],
    ],
    [["all", "read:user"], ["all"]],
    [
      ["all", "public-only"],
      ["public-only", "all"],
    ],
    [scopeCategories.map((category) => `write:${category}`), ["all"]],
    [["", "read:misc"], ["read:misc"]],
    [[], []],
  ])("the scopes %j have the normal form %j", (scopeWords, normal) =>
    expect(toScopeWords(scopeOf(scopeWords))).toEqual(normal),
  );

  test.each([
    "ALL",
    "read",
    "read:",
    ":user",
    "read:users",
    "delete:user",
    "read:user:x",
    " all",
    "sudo",
    "__proto__",
  ])("%j is not a scope", (word) =>
    expect(parseScope(["all", word])).toEqual({ kind: "invalid", word }),
  );

  test("the normal form of scopes is stable and equivalent", () => {
    fc.assert(
      fc.property(words, (scopeWords) => {
        const scope = scopeOf(scopeWords);
        const normal = toScopeWords(scope);
        expect(toScopeWords(scopeOf(normal))).toEqual(normal);
        expect(scopeOf(normal)).toEqual(scope);
      }),
      cases(),
    );
  });

  test("write includes read, and no other scope is granted", () => {
    fc.assert(
      fc.property(words, fc.constantFrom(...scopeCategories), (scopeWords, category) => {
        const scope = scopeOf(scopeWords);
        const isAll = scopeWords.includes("all");
        const writes = isAll || scopeWords.includes(`write:${category}`);
        expect(allows(scope, "write", category)).toBe(writes);
        expect(allows(scope, "read", category)).toBe(
          writes || scopeWords.includes(`read:${category}`),
        );
      }),
      cases(),
    );
  });

  test("a scope includes its parts, and a part that includes the scope equals it", () => {
    fc.assert(
      fc.property(words, words, (one, other) => {
        const whole = scopeOf([...one, ...other]);
        expect(isWithin(scopeOf(one), whole)).toBe(true);
        const fits = isWithin(whole, scopeOf(one));
        const strip = (scope: TokenScope) => toScopeWords({ ...scope, publicOnly: false });
        expect(fits).toBe(JSON.stringify(strip(whole)) === JSON.stringify(strip(scopeOf(one))));
      }),
      cases(),
    );
  });
});
