import { lockRow } from "../lock-row.ts";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { flag, generated, id, integer, optional, text, unread } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf, type Window } from "../../table.ts";
import type { UserId, LabelId, RepositoryId } from "../ids.ts";

/** Labels of issues; read by their issues in issue-labels.ts. */
export const labels = defineTable("forge_labels", {
  id: generated(id<LabelId>()),
  name: text(),
  /** Six hex digits without `#`. */
  color: text(),
  description: text(),
  /** Whether an issue has at most one of the labels with the same part before the last slash. */
  isExclusive: flag(),
  /** Set on a label that is no longer offered. Epoch milliseconds. */
  archivedAt: optional(integer()),
  /** The organization whose repositories all have it; undefined for a label of one repository. */
  orgId: optional(id<UserId>()),
  repositoryId: unread(optional(id<RepositoryId>())),
});
export type ForgeLabel = RecordOf<typeof labels>;

/** The owner of a label: a repository or an organization. */
export type LabelOwner = { readonly repositoryId: RepositoryId } | { readonly orgId: UserId };

/** A label to be added. */
export type NewLabel = Pick<ForgeLabel, "name" | "color" | "description" | "isExclusive"> & {
  readonly archivedAt?: number | undefined;
};

/** Adds labels to a repository or an organization, in order. A label that is visible earlier has the lower id. */
export async function insertLabels(
  tx: Transaction,
  owner: LabelOwner,
  newLabels: readonly NewLabel[],
): Promise<ForgeLabel[]> {
  await ("repositoryId" in owner
    ? lockRow(tx, "forge_repositories", owner.repositoryId)
    : lockRow(tx, "forge_users", owner.orgId));
  const added: ForgeLabel[] = [];
  for (const label of newLabels) added.push(await labels.insert(tx, { ...label, ...owner }));
  return added;
}

/** Returns a page of the labels of a repository or an organization, by name. */
export const listLabels = (db: Queries, owner: LabelOwner, window: Window): Promise<ForgeLabel[]> =>
  labels.list(db, owner, { order: "name, id", ...window });

export const countLabels = (db: Queries, owner: LabelOwner): Promise<number> =>
  labels.count(db, owner);

/** Returns the label with this id, or else with this name, of a repository or an organization. */
export const findLabel = (
  db: Queries,
  owner: LabelOwner,
  by: { readonly id: LabelId } | { readonly name: string },
): Promise<ForgeLabel | undefined> => labels.find(db, { ...owner, ...by }, "id");

/** Returns the labels with these ids or names that the issues of a repository may have; its owner's are among them. */
export function listUsableLabels(
  db: Queries,
  repository: { readonly id: number; readonly ownerId: UserId },
  { ids, names }: { readonly ids: readonly LabelId[]; readonly names: readonly string[] },
): Promise<ForgeLabel[]> {
  return labels.list(
    db,
    sql`(repository_id = ${repository.id} OR org_id = ${repository.ownerId})
        AND (id IN (${ids}) OR name IN (${names}))`,
    { order: "id" },
  );
}

/** Writes the given members of a label. Returns undefined when it does not exist. */
export const updateLabel = (
  tx: Transaction,
  id: LabelId,
  changes: Partial<NewLabel>,
): Promise<ForgeLabel | undefined> => labels.change(tx, { id }, changes);

/** Deletes a label and takes it off all issues. */
export async function deleteLabel(tx: Transaction, id: LabelId): Promise<void> {
  await labels.delete(tx, { id });
}

/** Takes the labels of an organization off the issues of a repository, which moves to another owner. */
export async function deleteForeignLabels(
  tx: Transaction,
  repositoryId: RepositoryId,
): Promise<void> {
  await tx.run(
    `DELETE FROM forge_issue_labels
     WHERE issue_id IN (SELECT i.id FROM forge_issues i WHERE i.repository_id = ?)
       AND label_id IN (SELECT l.id FROM forge_labels l WHERE l.org_id IS NOT NULL)`,
    repositoryId,
  );
}
