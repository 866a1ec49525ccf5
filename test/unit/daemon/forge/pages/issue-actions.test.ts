import { expect, test } from "vitest";
import { readChoice } from "../../../../../daemon/forge/pages/issue-actions.ts";

test("a form adds and removes each name once, however often it repeats one", () => {
  const form = new URLSearchParams([
    ["had", "1,2,,2,3,2"],
    ["label", "3"],
    ["label", "4"],
    ["label", "4"],
  ]);
  expect(readChoice({ form }, "label")).toEqual({ added: ["4"], removed: ["1", "2"] });
});
