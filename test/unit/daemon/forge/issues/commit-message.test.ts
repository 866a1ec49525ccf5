import { expect, test } from "vitest";
import { findReferences } from "../../../../../daemon/forge/issues/commit-message.ts";

const find = (message: string) =>
  findReferences(message, "https://forge.example.org/base/").map(
    ({ owner, repo, number, action }) =>
      `${owner === undefined ? "" : `${owner}/${repo ?? ""}`}#${number}${action === undefined ? "" : ` ${action}`}`,
  );

test.each([
  "close",
  "closes",
  "closed",
  "fix",
  "fixes",
  "fixed",
  "resolve",
  "resolves",
  "resolved",
])("the word %s closes the issue after it, in any case and with a colon", (word) => {
  expect(find(`${word} #1`)).toEqual(["#1 close"]);
  expect(find(`Text.\n\n${word.toUpperCase()}: #2.`)).toEqual(["#2 close"]);
  expect(find(`(${word} mira/notes#3)`)).toEqual(["mira/notes#3 close"]);
});

test.each(["reopen", "reopens", "reopened"])("the word %s reopens the issue after it", (word) => {
  expect(find(`${word} #1`)).toEqual(["#1 reopen"]);
});

test.each([
  ["closes #1, closes #2 and fixes #3", ["#1 close", "#2 close", "#3 close"]],
  ["closes #1, #2", ["#1 close", "#2"]],
  ["See #1; later: fixes #1", ["#1 close"]],
  ["discloses #1", ["#1"]],
  ["verschließt fix#1 a#2 #3a #0x", []],
  ["closes: https://forge.example.org/base/mira/notes/issues/4", ["mira/notes#4 close"]],
  ["https://forge.example.org/base/mira/notes/pulls/4#issuecomment-7, see", ["mira/notes#4"]],
  ["!1 and mira/notes!2", ["#1", "mira/notes#2"]],
  ["https://other.example.org/mira/notes/issues/4", []],
  ["`closes #1` is code, #2 is not", ["#2"]],
  ["```\ncloses #1\n```\ncloses #2", ["#2 close"]],
  ["~~~~text\ncloses #1\n~~~\ncloses #2\n~~~~\r\ncloses #3", ["#3 close"]],
  ["```closes #1``` closes #2\ncloses #3", ["#2 close", "#3 close"]],
  ["```\ncloses #1", []],
  ["fixes\n#1", ["#1"]],
  ["[#1] (#2) {#3} '#4' #5! #6", ["#1", "#2", "#3", "#4", "#5", "#6"]],
])("the message %j names %j", (message, references) => {
  expect(find(message)).toEqual(references);
});

test("a message names at most fifty issues", () => {
  expect(
    find(Array.from({ length: 80 }, (_, index) => `fixes #${index + 1}`).join(" ")),
  ).toHaveLength(50);
});
