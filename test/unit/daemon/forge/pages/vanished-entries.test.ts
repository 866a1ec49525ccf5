import { expect, test } from "vitest";
import { AppError } from "../../../../../daemon/errors.ts";
import type { ForgePageContext } from "../../../../../daemon/forge/pages/forge-page.ts";
import { loadLines } from "../../../../../daemon/forge/pages/line-comments.tsx";
import { loadTimeline } from "../../../../../daemon/forge/pages/timeline.tsx";

// Pages read their parts one after the other, and a part may be deleted in between.

/** A context whose operations answer as given, by name; a missing answer is that of a deleted object. */
function contextOf(answers: Readonly<Record<string, (id: string) => unknown>>) {
  const called: string[] = [];
  const call = async (
    { name }: { readonly name: string },
    { params }: { readonly params: { readonly id?: string } },
  ) => {
    called.push(name);
    const body = answers[name]?.(params.id ?? "");
    if (body === undefined) throw new AppError("not_found", "not found");
    return { status: 200, body, total: 3 };
  };
  const context = {
    call,
    render: async () => "<p>text</p>",
    request: { query: new URLSearchParams() },
  } as unknown as ForgePageContext;
  return { context, called };
}

const params = { owner: "mira", repo: "notes", index: "1" };

test.each([true, false])(
  "a comment that is deleted while its page loads is left out, imported: %s",
  async (isImported) => {
    const unlessDeleted = (body: unknown) => (id: string) => (id === "2" ? undefined : body);
    const { context } = contextOf({
      "forge.issues.timeline.list": () => [
        { id: 1, type: "comment", body: "one" },
        { id: 2, type: "comment", body: "two" },
        { id: 3, type: "close", body: "" },
      ],
      "forge.issues.comments.get": unlessDeleted({ original_author: "octo" }),
      "forge.issues.comments.attachments.list": unlessDeleted([]),
      "forge.issues.comments.reactions.list": unlessDeleted([]),
    });
    const { items } = await loadTimeline(context, params, { home: "mira/notes", isImported });
    expect(items.map(({ entry }) => entry.id)).toEqual([1, 3]);
    expect(items[0]?.originalAuthor).toBe(isImported ? "octo" : "");
  },
);

test("the page of the changes reads the comments on lines of any number of reviews by one call", async () => {
  const line = (id: number) => ({
    ...{ id, path: "a.txt", line: 7, position: 7, original_position: 0, commit_id: "c" },
    ...{ body: "why?", diff_hunk: "@@", suggestion: null, pull_request_review_id: id },
  });
  const { context, called } = contextOf({
    "forge.pulls.reviews.lines": () => Array.from({ length: 900 }, (_, at) => line(at + 1)),
  });
  const found = await loadLines(context, params);
  // As many as a page has room for, of one conversation.
  expect([...found.values()].map((each) => each.map((lines) => lines.length))).toEqual([[500]]);
  expect(called).toEqual(["forge.pulls.reviews.lines"]);
});
