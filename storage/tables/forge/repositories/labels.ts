import type { Queries, Transaction } from "../../../engine/database.ts";

/** A label of a repository's issues; `color` is six hex digits without `#`. */
export interface ForgeLabel {
  readonly id: number;
  readonly name: string;
  readonly color: string;
  readonly description: string;
  readonly isExclusive: boolean;
}

/** Adds labels to a repository, in order. */
export async function insertLabels(
  tx: Transaction,
  repositoryId: number,
  labels: readonly Omit<ForgeLabel, "id">[],
): Promise<void> {
  for (const { name, color, description, isExclusive } of labels)
    await tx.run(
      "INSERT INTO forge_labels (repository_id, name, color, description, is_exclusive) VALUES (?, ?, ?, ?, ?)",
      repositoryId,
      name,
      color,
      description,
      Number(isExclusive),
    );
}

/** Returns the labels of a repository, by name. */
export async function listLabels(db: Queries, repositoryId: number): Promise<ForgeLabel[]> {
  const rows = await db.all<{
    id: number;
    name: string;
    color: string;
    description: string;
    is_exclusive: number;
  }>(
    "SELECT id, name, color, description, is_exclusive FROM forge_labels WHERE repository_id = ? ORDER BY name, id",
    repositoryId,
  );
  return rows.map(({ is_exclusive: isExclusive, ...label }) => ({
    ...label,
    isExclusive: isExclusive === 1,
  }));
}
