import { describe, expect, test } from "vitest";
import {
  createMasker,
  createMaskRows,
} from "../../../../../daemon/forge/actions/secrets/masker.ts";

const SECRET = "hunter2-Tr0ub4dor&3";

/** Masks batches one after the other, as a log grows. */
function maskAll(secrets: readonly string[], batches: readonly (readonly string[])[]): string[] {
  const mask = createMasker(secrets);
  let pending: readonly string[] = [];
  return batches.flatMap((rows) => {
    const masked = mask(rows, pending);
    ({ pending } = masked);
    return [...masked.rows];
  });
}

describe("a masked log", () => {
  test.each([
    ["as it is", `a ${SECRET} b`, "a *** b"],
    ["twice in a row", `${SECRET}${SECRET}`, "***"],
    ["as JSON", JSON.stringify({ key: 'q"\\' }), '{"key":"***"}', 'q"\\'],
    ["as JSON in ASCII", '{"key":"w\\u00f6rd"}', '{"key":"***"}', "wörd"],
    ["in a URL that keeps slashes", "?k=a/b%20c&x", "?k=***&x", "a/b c"],
    ["in a form", "k=a%2Fb+c&x", "k=***&x", "a/b c"],
    ["percent-encoded", `?k=${encodeURIComponent(SECRET)}&x`, "?k=***&x"],
  ])("the masker hides a secret %s", (_what, row, masked, secret = SECRET) => {
    expect(maskAll([secret], [[row]])).toEqual([masked]);
  });

  test.each([0, 1, 2, 3, 4, 5])(
    "the masker hides base64 of a secret after %i other bytes",
    (before) => {
      const row = Buffer.from(`${"x".repeat(before)}${SECRET}tail`).toString("base64");
      const [masked = ""] = maskAll([SECRET], [[row]]);
      expect(masked).toContain("***");
      const rest = Buffer.from(masked.replaceAll("*", ""), "base64").toString("latin1");
      expect(rest).not.toContain(SECRET.slice(2, -2));
      const url = Buffer.from(`${SECRET}\u{fb}\u{ff}`, "latin1").toString("base64url");
      expect(maskAll([SECRET], [[url]])[0]).toContain("***");
    },
  );

  test.each(Array.from({ length: SECRET.length - 7 }, (_, at) => at + 4))(
    "hides a secret that is split after %i characters, within a batch and over two",
    (at) => {
      const [head, tail] = [`a ${SECRET.slice(0, at)}`, `${SECRET.slice(at)} b`];
      expect(maskAll([SECRET], [[head, tail]])).toEqual(["a ***", "*** b"]);
      expect(maskAll([SECRET], [[head], [tail]])).toEqual(["a ***", "*** b"]);
    },
  );

  test("the masker hides a secret that is split over three batches, and wrapped base64", () => {
    const parts = [SECRET.slice(0, 6), SECRET.slice(6, 12), SECRET.slice(12)];
    expect(
      maskAll(
        [SECRET],
        parts.map((part) => [part]),
      ),
    ).toEqual(["***", "***", "***"]);
    const encoded = Buffer.from(SECRET.repeat(1)).toString("base64");
    expect(maskAll([SECRET], [[encoded.slice(0, 10), encoded.slice(10)]])).toEqual([
      "***",
      expect.stringMatching(/^\*{3}.?=*$/),
    ]);
  });

  test("the masker hides a multi-line secret as a whole and by its lines", () => {
    const key = "-----BEGIN KEY-----\nAAAABBBB\nCCCCDDDD\n-----END KEY-----\n";
    expect(maskAll([key], [key.trimEnd().split("\n")])).toEqual(["***", "***", "***", "***"]);
    expect(maskAll([key], [["x AAAABBBB"], ["CCCCDDDD y"]])).toEqual(["x ***", "*** y"]);
  });

  test("the masker keeps all other text, including characters of regular expressions", () => {
    const rows = ["$^.*", "hunter", "", "half of hunter2"];
    expect(maskAll(["[a-z]+(x)|/"], [rows])).toEqual(rows);
    expect(maskAll(["[a-z]+(x)|/"], [["see [a-z]+(x)|/ now"]])).toEqual(["see *** now"]);
    expect(maskAll([], [rows])).toEqual(rows);
    expect(maskAll(["***", "", "\n"], [["*** a"]])).toEqual(["*** a"]);
  });

  /** A secret of the maximum size, none of whose pieces repeats. */
  const LONG = Array.from({ length: 65_536 / 8 }, (_, at) =>
    Math.imul(at + 1, 0x9e_37_79_b1)
      .toString(16)
      .padStart(8, "x")
      .slice(-8),
  ).join("");

  test("the masker hides a secret of 64 KiB, its encodings, and the parts of it", () => {
    const base64 = Buffer.from(LONG).toString("base64");
    const [plain, encoded, part = ""] = maskAll(
      [LONG],
      [[`a ${LONG} b`, base64, `cut ${LONG.slice(1_000, 2_000)} end`]],
    );
    expect(plain).toBe("a *** b");
    // The last characters depend on what follows.
    expect(encoded).toMatch(/^\*{3}.{0,2}={0,2}$/);
    // A part shows at most what is not a whole piece.
    expect(part.length).toBeLessThan("cut  end".length + 3 + 2 * 32);
  });

  test.each([4, 31, 32, 33, 1_000, 32 * 100, 32 * 100 + 2, 65_535])(
    "hides a secret of 64 KiB that is split after %i characters over two batches",
    (at) => {
      const shown = maskAll([LONG], [[`a ${LONG.slice(0, at)}`], [`${LONG.slice(at)} b`]]);
      // Up to three characters behind a whole piece may stay visible at the end of the first batch.
      expect(shown[0]).toMatch(/^a \*{3}.{0,3}$/);
      expect(shown[1]).toBe("*** b");
    },
  );

  test("the masker hides a secret of 64 KiB that comes in many batches", () => {
    const batches = Array.from({ length: LONG.length / 512 }, (_, at) => [
      LONG.slice(at * 512, at * 512 + 512),
    ]);
    const shown = maskAll([LONG], [["a"], ...batches, ["b"]]);
    expect(shown.join("").replaceAll("*", "")).toBe("ab");
  });

  test("the cost of a batch counts what is pending of the batches before it", () => {
    const { cost, length } = createMaskRows();
    const batch = { secrets: ["secret"], rows: ["a"], pending: [] };
    const later = { ...batch, pending: [LONG] };
    expect(cost(later) - cost(batch)).toBeGreaterThan(LONG.length);
    expect(length(later) - length(batch)).toBeGreaterThanOrEqual(LONG.length);
  });

  test("the masker hides a secret that repeats itself", () => {
    const secret = "ab".repeat(20_000);
    expect(maskAll([secret], [[`x${secret}y`, "ababab"]])).toEqual(["x***y", "***"]);
  });
});
