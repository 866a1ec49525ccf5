import { describe, expect, test } from "vitest";
import { parseIf, tokensOf } from "../../../../../daemon/vault/dav/if-header.ts";

describe("the header If", () => {
  test("reads lists without a tag, for the resource of the request", () => {
    expect(parseIf('(<urn:a> ["tag"]) (Not <urn:b> [W/"weak"])')).toEqual([
      {
        tag: undefined,
        conditions: [
          { isNegated: false, token: "urn:a" },
          { isNegated: false, etag: '"tag"' },
        ],
      },
      {
        tag: undefined,
        conditions: [
          { isNegated: true, token: "urn:b" },
          { isNegated: false, etag: 'W/"weak"' },
        ],
      },
    ]);
  });

  test("reads lists with tags, each for those that follow it", () => {
    const lists = parseIf('<http://x/a>(<urn:a>)(not["t"]) </b> (<urn:c>)');
    expect(lists.map(({ tag }) => tag)).toEqual(["http://x/a", "http://x/a", "/b"]);
    expect(tokensOf(lists)).toEqual(new Set(["urn:a", "urn:c"]));
  });

  test("does not count a negated token as one that the client holds", () => {
    expect(tokensOf(parseIf("(Not <urn:a>)"))).toEqual(new Set());
  });

  test.each([
    "",
    " ",
    "(",
    ")",
    "()",
    "(<urn:a>",
    "<urn:a>)",
    "<urn:a>",
    "(<urn:a>) <http://x>",
    "(<urn:a>) <http://x> (<urn:b>)",
    "((<urn:a>))",
    "(Not)",
    "(Not Not <urn:a>)",
    "Not (<urn:a>)",
    "(urn:a)",
    '(["a)',
    "(<urn:a>) x",
    `(${"<urn:a> ".repeat(10_000)})`,
    "(<urn:a>)".repeat(1_000),
  ])("refuses %j, because a condition must not get lost", (header) => {
    expect(() => parseIf(header)).toThrow(expect.objectContaining({ status: 400 }));
  });
});
