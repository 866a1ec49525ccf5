import { expect, test } from "vitest";
import { toEditable, withLineEnds } from "../../../../../daemon/forge/pages/edited-text.ts";

test("a submitted text keeps the line ends of the file, also where they are mixed", () => {
  expect(withLineEnds("one\r\ntwo\r\n", "one\n")).toBe("one\ntwo\n");
  expect(withLineEnds("one\r\nnew\r\nthree\r\n", "one\r\ntwo\r\nthree\r\n")).toBe(
    "one\r\nnew\r\nthree\r\n",
  );
  expect(withLineEnds("a\r\nnew\r\nc\r\nd", "a\r\nb\nc\nd")).toBe("a\r\nnew\nc\nd");
  expect(withLineEnds("first\r\n", "")).toBe("first\n");
  expect(withLineEnds("one\r\ntwo", "one\r\ntwo\r\n")).toBe("one\r\ntwo");
  expect(withLineEnds("same\r\ntext\r\n", "same\ntext\n")).toBe("same\ntext\n");
});

test("a text that a form cannot send back unchanged is not edited", () => {
  const bytes = (text: string) => Buffer.from(text, "utf8");
  expect(toEditable(bytes("\ufeffone\r\ntwo\n\ttab ä"))).toEqual({
    kind: "text",
    text: "\ufeffone\r\ntwo\n\ttab ä",
  });
  for (const refused of [
    Buffer.from([0x63, 0xe9]),
    bytes("bell \u0007"),
    bytes("reversed \u202e"),
    bytes("one\rtwo"),
    Buffer.from("\ufeffwide", "utf16le"),
  ])
    expect(toEditable(refused).kind).toBe("refused");
});
