import { readTime, toChoice } from "./flag-values.ts";
import type { WireIssue } from "../../daemon/contract/forge/issues/issues.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import type { RepositoryName } from "./repository.ts";

/** The value of `--state` of a list. @throws CliError `usage` */
export function toListState(value: string): string {
  return toChoice("--state", ["open", "closed", "all"], value);
}

/** A day such as 2026-12-31, or a time, as RFC 3339. @throws CliError `usage` */
export function toDueDate(value: string): string {
  const time = /^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : value;
  if (time.includes("T") && readTime(time) !== undefined) return time;
  throw usageError(`a date is written as 2026-12-31, not ${JSON.stringify(value)}`);
}

/** Accumulates the values of a flag that may be repeated. */
export function addValue(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/** Accumulates the values of a flag that may be repeated or has several values, separated by commas. */
export function addValues(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, ...value.split(",").map((word) => word.trim())];
}

/** An issue in a table. */
export const issueColumns: readonly Column<WireIssue>[] = [
  { header: "number", cell: ({ number }) => number },
  { header: "state", cell: ({ state }) => state },
  { header: "title", cell: ({ title }) => title },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "comments", cell: ({ comments }) => comments },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** An issue of any repository in a table. */
export const dependencyColumns: readonly Column<WireIssue>[] = [
  { header: "issue", cell: ({ repository, number }) => `${repository.full_name}#${number}` },
  { header: "state", cell: ({ state }) => state },
  { header: "title", cell: ({ title }) => title },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** One issue, with the fields that do not fit into a table. */
export const issueLines: readonly Column<WireIssue>[] = [
  ...issueColumns,
  { header: "assignees", cell: ({ assignees }) => (assignees ?? []).map(({ login }) => login) },
  { header: "labels", cell: ({ labels }) => labels.map(({ name }) => name) },
  { header: "milestone", cell: ({ milestone }) => milestone?.title },
  { header: "due", cell: ({ due_date: due }) => (due === null ? undefined : time(due)) },
  { header: "locked", cell: ({ is_locked: isLocked }) => isLocked },
  { header: "address", cell: ({ html_url: address }) => address },
  { header: "body", cell: ({ body }) => body },
];

/** Returns the id of a milestone by its title or id. @throws CliError `not_found` */
export async function findMilestoneId(
  { client }: CliContext,
  { owner, repo }: RepositoryName,
  id: string,
): Promise<number> {
  return (await client.call(forge.getMilestone, { params: { owner, repo, id } })).body.id;
}
