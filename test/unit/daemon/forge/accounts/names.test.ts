import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isEmailShape, isUserName, isWebUrl } from "../../../../../daemon/contract/forge/rules.ts";
import { assertUsableName, findEmailFault } from "../../../../../daemon/forge/accounts/names.ts";
import { cases } from "../../../../support/property.ts";

describe("names", () => {
  test.each(["a", "admin", "abc", "0.b-c", "a.b-c_d", "foo.wiki", "foo.git"])(
    "the name %s is valid",
    (name) => {
      expect(isUserName(name)).toBe(true);
      expect(() => assertUsableName(name)).not.toThrow();
    },
  );

  test.each([
    "",
    ".abc",
    "abc.",
    "a..bc",
    "a.-bc",
    "a._bc",
    "a_-bc",
    "a--b",
    "a/bc",
    "-",
    "--diff",
    "-im-here",
    "a space",
    "\u{1F600}",
    "größe",
    "a\nb",
    "a\u0000",
    "..",
    "../etc",
    "a\\b",
  ])("the name %j is invalid", (name) => {
    expect(isUserName(name)).toBe(false);
    expect(() => assertUsableName(name)).toThrow(/^name is invalid/);
  });

  test.each([
    "API",
    "user",
    "Ghost",
    "gitea-actions",
    "swagger.v1.json",
    "healthz",
    "dav",
    "search",
    "V2",
    "explore",
  ])("the name %s is reserved in every case", (name) =>
    expect(() => assertUsableName(name)).toThrow(`name is reserved [name: ${name.toLowerCase()}]`),
  );

  test.each([".keys", ".GPG", ".rss", ".atom", ".Png"])("no account name ends in %s", (suffix) =>
    expect(() => assertUsableName(`a${suffix}`)).toThrow(
      `name pattern is not allowed [pattern: *${suffix.toLowerCase()}]`,
    ),
  );

  test("a valid name is one safe segment of a path and an address", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 12 }), (name) => {
        if (!isUserName(name)) return;
        expect(encodeURIComponent(name)).toBe(name);
        expect(name).not.toMatch(/^\.|\.\.|[/\\]|[-._]$/);
      }),
      cases(),
    );
  });

  test("checks names by the same rule as a letter-by-letter check", () => {
    const letters = fc.string({
      unit: fc.constantFrom("a", "Z", "0", "-", ".", "_", " ", "/"),
      maxLength: 8,
    });
    fc.assert(
      fc.property(letters, (name) => {
        const byHand =
          /^[A-Za-z0-9]/.test(name) &&
          /^[A-Za-z0-9._-]*$/.test(name) &&
          !/[-._]{2}/.test(name) &&
          !/[-._]$/.test(name);
        expect(isUserName(name)).toBe(byHand);
      }),
      cases(),
    );
  });

  test("checking a name takes linear time", () => {
    expect(isUserName(`${"a-".repeat(50_000)}-`)).toBe(false);
    expect(isEmailShape(`${"a.".repeat(50_000)}@`)).toBe(false);
    expect(isEmailShape(`a@${"a-".repeat(50_000)}`)).toBe(false);
  });
});

describe("addresses", () => {
  test.each([
    "132@hotmail.com",
    "first!last@iana.org",
    "first+last@iana.org",
    "first/last@iana.org",
    "+233@qq.com",
    "_233@qq.com",
    `${"a".repeat(64)}@iana.org`,
  ])("the e-mail address %s is valid", (email) => {
    expect(findEmailFault(email)).toBeUndefined();
    expect(isEmailShape(email)).toBe(true);
  });

  test.each([
    ["first;last@iana.org", "e-mail address contains unsupported character"],
    ["Foo <foo@bar.com>", "e-mail address contains unsupported character"],
    ["a@b@c.de", "e-mail address contains unsupported character"],
    ["a@-b.de", "e-mail address contains unsupported character"],
    ["a@b..de", "e-mail address contains unsupported character"],
    ["a@", "e-mail address contains unsupported character"],
    [`a@${"b".repeat(64)}.de`, "e-mail address contains unsupported character"],
    ["ä@b.de", "e-mail address contains unsupported character"],
    ["-233@qq.com", "e-mail invalid"],
    [".233@qq.com", "e-mail invalid"],
    ["a..b@qq.com", "e-mail invalid"],
    ["@qq.com", "e-mail invalid"],
    ["", "e-mail invalid"],
    [`${"a".repeat(65)}@iana.org`, "e-mail invalid"],
  ])("the e-mail address %j is invalid", (email, why) =>
    expect(findEmailFault(email)).toBe(`${why} [email: ${email}]`),
  );

  test("a new account may not have an e-mail address with more than 64 characters before the @", () => {
    expect(isEmailShape(`${"a".repeat(64)}@iana.org`)).toBe(true);
    expect(isEmailShape(`${"a".repeat(65)}@iana.org`)).toBe(false);
  });

  test("an e-mail domain of one label is accepted only in administrators' edits", () => {
    expect(findEmailFault("a@localhost")).toBeUndefined();
    expect(isEmailShape("a@localhost")).toBe(false);
  });

  test("an accepted e-mail address is a single one without blanks or line breaks", () => {
    fc.assert(
      fc.property(fc.emailAddress(), (email) => {
        if (isEmailShape(email)) expect(email).toMatch(/^[^\s@<>,;]+@[^\s@<>,;]+$/);
      }),
      cases(),
    );
  });
});

describe("web addresses", () => {
  test.each(["http://a.b", "https://a.b:8080/c?d#e", "HTTPS://A"])("%s is a web address", (url) =>
    expect(isWebUrl(url)).toBe(true),
  );
  test.each([
    "a.b",
    "ftp://a.b",
    "javascript:alert(1)",
    "http://",
    "http:///a",
    "http://a:b/",
    "//a.b",
    "http://a.example/\r\nx",
    "http://a.exam\nple/",
    "http://a.example/\u0000",
  ])("%s is not a web address", (url) => expect(isWebUrl(url)).toBe(false));
});
