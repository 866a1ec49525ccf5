import { expect, test } from "vitest";
import type { MergeStyle } from "../../../../../storage/tables/forge/pulls/merges.ts";
import {
  type MergedPull,
  toMergeMessage,
  toTemplatePath,
  withCoAuthor,
} from "../../../../../daemon/forge/pulls/merge-message.ts";

const pull: MergedPull = {
  number: 7,
  title: "Tidy the ${BaseBranch} shelf",
  description: "Sorts the books.\nCloses #3",
  posterName: "otto",
  url: "http://croft.example/mira/notes/pulls/7",
  base: { owner: "mira", repo: "notes", branch: "main" },
  head: { owner: "mira", repo: "notes", branch: "tidy" },
  isFromFork: false,
  mark: "#",
  approvers: [{ name: "Rosa", email: "rosa@croft.example" }],
  closes: [3, 4],
};
const fork: MergedPull = {
  ...pull,
  head: { owner: "otto", repo: "notes", branch: "tidy" },
  isFromFork: true,
};
const plain = { title: "", text: "" };
const subject = "Merge pull request 'Tidy the ${BaseBranch} shelf' (#7) from";

test.each<[MergeStyle, MergedPull, string]>([
  ["merge", pull, `${subject} tidy into main\n`],
  ["rebase-merge", pull, `${subject} tidy into main\n`],
  ["merge", fork, `${subject} otto/notes:tidy into main\n`],
  [
    "merge",
    { ...fork, head: { owner: undefined, repo: undefined, branch: "tidy" } },
    `${subject} <deleted>:tidy into main\n`,
  ],
  ["squash", pull, "Tidy the ${BaseBranch} shelf (#7)\n"],
  ["squash", { ...pull, mark: "!" }, "Tidy the ${BaseBranch} shelf (!7)\n"],
])("the default message of %s names the pull request and its branches", (style, of, message) => {
  expect(toMergeMessage(of, style, plain)).toBe(message);
});

test.each([
  ["  Tidy \n", "", "Tidy\n"],
  ["Tidy", "\n Why it matters. \n", "Tidy\n\nWhy it matters.\n"],
  ["", " Why ", "Tidy the ${BaseBranch} shelf (#7)\n\nWhy\n"],
])("the requested title %j and text %j are trimmed", (title, text, message) => {
  expect(toMergeMessage(pull, "squash", { title, text })).toBe(message);
});

test("a template whose variables stand for too much is not used", () => {
  const long = { ...pull, description: "x".repeat(60_000) };
  const message = (count: number) =>
    toMergeMessage(long, "squash", {
      ...plain,
      template: "${PullRequestDescription}".repeat(count),
    });
  expect(message(1)).toBe(`${long.description}\n`);
  expect(message(2_600)).toBe("Tidy the ${BaseBranch} shelf (#7)\n");
});

test.each([
  ["merge", ".gitea/default_merge_message/MERGE_TEMPLATE.md"],
  ["rebase-merge", ".gitea/default_merge_message/REBASE-MERGE_TEMPLATE.md"],
] as const)("the template of %s is the file %s", (style, path) => {
  expect(toTemplatePath(style)).toBe(path);
});

test.each([
  ["${PullRequestTitle} ${PullRequestIndex}\nbody", "Tidy the ${BaseBranch} shelf 7"],
  ["  \n${PullRequestReference} by ${PullRequestPosterName}\n\n${ReviewedBy}", "#7 by otto"],
  ["${BaseRepoOwnerName}/${BaseRepoName}:${BaseBranch}", "mira/notes:main"],
  ["${HeadRepoOwnerName}/${HeadRepoName}:${HeadBranch}", "otto/notes:tidy"],
  ["${ClosingIssues}", "close #3, close #4"],
  ["${ReviewedOn}", "Reviewed-on: http://croft.example/mira/notes/pulls/7"],
  ["${ReviewedBy}", "Reviewed-by: Rosa <rosa@croft.example>"],
  ["It costs $5 ${Unknown}!", "It costs $5 !"],
  ["", "Tidy the ${BaseBranch} shelf (#7)"],
  ["${Unknown}", "Tidy the ${BaseBranch} shelf (#7)"],
])("the first line of the template %j is the default title", (template, title) => {
  expect(toMergeMessage(fork, "squash", { ...plain, template })).toBe(`${title}\n`);
});

const otto = { name: "Otto", email: "otto@croft.example" };
const mira = { name: "Mira", email: "mira@croft.example" };

test.each([
  ["Tidy\n", "Tidy\n\nCo-authored-by: Otto <otto@croft.example>\n"],
  ["Tidy\n\nWhy\n", "Tidy\n\nWhy\n\nCo-authored-by: Otto <otto@croft.example>\n"],
  [
    "Tidy\n\nSigned-off-by: Mira <m@croft.example>\n",
    "Tidy\n\nSigned-off-by: Mira <m@croft.example>\nCo-authored-by: Otto <otto@croft.example>\n",
  ],
  [
    "Tidy\n\nCo-authored-by: Otto <otto@croft.example>\n",
    "Tidy\n\nCo-authored-by: Otto <otto@croft.example>\n",
  ],
])("the squashed message %j ends with the author when another person merges", (message, ends) => {
  expect(withCoAuthor(message, otto, mira)).toBe(ends);
  expect(withCoAuthor(message, otto, otto)).toBe(message);
});
