import { expect, test } from "vitest";
import { toLogParts } from "../../../../../daemon/forge/pages/log-view.tsx";

test("rows between the marks of a group are a part of their own, with and without a time", () => {
  const log = [
    "begin",
    "2026-01-01T10:00:00.1234567Z ::group::Set up <b>",
    "one",
    "2026-01-01T10:00:00.1234567Z ::endgroup::",
    "##[group]Build",
    "two",
    "::group::Test",
    "three \u001B[31mred\u001B[0m",
    "",
  ].join("\n");
  expect(toLogParts(log)).toEqual([
    { kind: "rows", rows: ["begin"] },
    { kind: "group", name: "Set up <b>", rows: ["one"] },
    { kind: "group", name: "Build", rows: ["two"] },
    { kind: "group", name: "Test", rows: ["three red"] },
  ]);
});

test("a word that only looks like a mark stays a row", () => {
  expect(toLogParts("echo ::group::x")).toEqual([{ kind: "rows", rows: ["echo ::group::x"] }]);
  expect(toLogParts("::endgroup::")).toEqual([]);
});
