import { expect, test } from "vitest";
import { toCommitView } from "../../../../../daemon/forge/hooks/payloads.view.ts";

const commit = (at: string) => {
  const person = { name: "Mira", email: "mira@example.org", at };
  const metadata = { message: "", author: person, committer: person };
  return {
    id: "1".repeat(40),
    ...metadata,
    added: [],
    removed: [],
    modified: [],
    lacksFiles: false,
  };
};

test.each([
  ["2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05Z"],
  ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"],
  ["2026-01-02T03:04:05+02:00", "2026-01-02T03:04:05+02:00"],
])("the payload of a commit made at %s has the time %s", (at, told) => {
  expect(toCommitView(commit(at), "http://croft.example/a/b", new Map()).timestamp).toBe(told);
});
