import { lockRow } from "../lock-row.ts";
import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { UserId, LabelId, RepositoryId } from "../ids.ts";

/** A label of issues; `color` is six hex digits without `#`. */
export interface ForgeLabel {
  readonly id: LabelId;
  readonly name: string;
  readonly color: string;
  readonly description: string;
  /** Whether an issue has at most one of the labels with the same part before the last slash. */
  readonly isExclusive: boolean;
  /** Set on a label that is no longer offered. Epoch milliseconds. */
  readonly archivedAt: number | undefined;
  /** The organization whose repositories all have it; undefined for a label of one repository. */
  readonly orgId: UserId | undefined;
}

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
  labels: readonly NewLabel[],
): Promise<ForgeLabel[]> {
  await ("repositoryId" in owner
    ? lockRow(tx, "forge_repositories", owner.repositoryId)
    : lockRow(tx, "forge_users", owner.orgId));
  const added: ForgeLabel[] = [];
  for (const label of labels) {
    const row = await tx.get<LabelRow>(
      `INSERT INTO forge_labels (repository_id, org_id, name, color, description, is_exclusive, archived_at)
       VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING ${labelColumns}`,
      "repositoryId" in owner ? owner.repositoryId : null,
      "orgId" in owner ? owner.orgId : null,
      label.name,
      label.color,
      label.description,
      Number(label.isExclusive),
      label.archivedAt ?? null,
    );
    if (row === undefined) throw new Error("the label was not added");
    added.push(toLabel(row));
  }
  return added;
}

/** Returns a page of the labels of a repository or an organization, by name. */
export async function listLabels(
  db: Queries,
  owner: LabelOwner,
  window: { readonly limit: number; readonly offset: number },
): Promise<ForgeLabel[]> {
  const { sql, id } = toOwnerCondition(owner);
  const rows = await db.all<LabelRow>(
    `SELECT ${labelColumns} FROM forge_labels WHERE ${sql} ORDER BY name, id LIMIT ? OFFSET ?`,
    id,
    window.limit,
    window.offset,
  );
  return rows.map(toLabel);
}

export async function countLabels(db: Queries, owner: LabelOwner): Promise<number> {
  const { sql, id } = toOwnerCondition(owner);
  const row = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_labels WHERE ${sql}`,
    id,
  );
  return row?.total ?? 0;
}

/** Returns the label with this id, or else with this name, of a repository or an organization. */
export async function findLabel(
  db: Queries,
  owner: LabelOwner,
  by: { readonly id: LabelId } | { readonly name: string },
): Promise<ForgeLabel | undefined> {
  const { sql, id } = toOwnerCondition(owner);
  const row = await db.get<LabelRow>(
    `SELECT ${labelColumns} FROM forge_labels WHERE ${sql} AND ${"id" in by ? "id" : "name"} = ? ORDER BY id LIMIT 1`,
    id,
    "id" in by ? by.id : by.name,
  );
  return row && toLabel(row);
}

/** Returns the labels with these ids or names that the issues of a repository may have; its owner's are among them. */
export async function listUsableLabels(
  db: Queries,
  repository: { readonly id: number; readonly ownerId: UserId },
  filter: { readonly ids: readonly LabelId[]; readonly names: readonly string[] },
): Promise<ForgeLabel[]> {
  const { ids, names } = filter;
  const conditions: string[] = [];
  if (ids.length > 0) conditions.push(`id IN (${ids.map(() => "?").join(", ")})`);
  if (names.length > 0) conditions.push(`name IN (${names.map(() => "?").join(", ")})`);
  if (conditions.length === 0) return [];
  const rows = await db.all<LabelRow>(
    `SELECT ${labelColumns} FROM forge_labels
     WHERE (repository_id = ? OR org_id = ?) AND (${conditions.join(" OR ")}) ORDER BY id`,
    repository.id,
    repository.ownerId,
    ...ids,
    ...names,
  );
  return rows.map(toLabel);
}

/** Writes the given members of a label. Returns undefined when it does not exist. */
export async function updateLabel(
  tx: Transaction,
  id: LabelId,
  changes: Partial<NewLabel>,
): Promise<ForgeLabel | undefined> {
  const values: Record<string, SqlValue> = {};
  if (changes.name !== undefined) values["name"] = changes.name;
  if (changes.color !== undefined) values["color"] = changes.color;
  if (changes.description !== undefined) values["description"] = changes.description;
  if (changes.isExclusive !== undefined) values["is_exclusive"] = Number(changes.isExclusive);
  if ("archivedAt" in changes) values["archived_at"] = changes.archivedAt ?? null;
  // A change without members must find the label, too.
  const assignments = ["id = id", ...Object.keys(values).map((column) => `${column} = ?`)];
  const row = await tx.get<LabelRow>(
    `UPDATE forge_labels SET ${assignments.join(", ")} WHERE id = ? RETURNING ${labelColumns}`,
    ...Object.values(values),
    id,
  );
  return row && toLabel(row);
}

/** Deletes a label and takes it off all issues. */
export async function deleteLabel(tx: Transaction, id: LabelId): Promise<void> {
  await tx.run("DELETE FROM forge_labels WHERE id = ?", id);
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

function toOwnerCondition(owner: LabelOwner): { readonly sql: string; readonly id: number } {
  return "repositoryId" in owner
    ? { sql: "repository_id = ?", id: owner.repositoryId }
    : { sql: "org_id = ?", id: owner.orgId };
}

/** A row of the table with the columns of `labelColumns`. */
export interface LabelRow {
  id: LabelId;
  org_id: UserId | null;
  name: string;
  color: string;
  description: string;
  is_exclusive: number;
  archived_at: number | null;
}

const columnNames = [
  "id",
  "org_id",
  "name",
  "color",
  "description",
  "is_exclusive",
  "archived_at",
] as const;
const labelColumns = columnNames.join(", ");
/** The columns of `LabelRow` of a table with the alias `l`. */
export const joinedLabelColumns = columnNames.map((name) => `l.${name}`).join(", ");

export function toLabel(row: LabelRow): ForgeLabel {
  return {
    id: row.id,
    name: row.name,
    color: row.color,
    description: row.description,
    isExclusive: row.is_exclusive === 1,
    archivedAt: row.archived_at ?? undefined,
    orgId: row.org_id ?? undefined,
  };
}
