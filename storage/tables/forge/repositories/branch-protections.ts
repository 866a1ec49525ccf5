import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { RepositoryId } from "../ids.ts";

const settingsSchema = z.object({
  /** Switches by their name in the API. */
  flags: z.record(z.string(), z.boolean()),
  /** Ids of users and teams by the name of the list in the API. */
  users: z.record(z.string(), z.array(z.int().brand<"UserId">())),
  teams: z.record(z.string(), z.array(z.int().brand<"TeamId">())),
  texts: z.record(z.string(), z.string()),
  statusCheckContexts: z.array(z.string()),
  requiredApprovals: z.int(),
});
export type BranchProtectionSettings = z.output<typeof settingsSchema>;

/** A rule that protects the branches whose names match. Times are epoch milliseconds. */
export interface BranchProtection {
  readonly id: number;
  readonly ruleName: string;
  readonly priority: number;
  readonly settings: BranchProtectionSettings;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Returns all rules of a repository, in the order in which they are tried. */
export async function listBranchProtections(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<BranchProtection[]> {
  const rows = await db.all<Row>(
    `SELECT id, rule_name, priority, settings, created_at, updated_at FROM forge_branch_protections
     WHERE repository_id = ? ORDER BY priority, created_at, rule_name`,
    repositoryId,
  );
  return rows.map((row) => ({
    id: row.id,
    ruleName: row.rule_name,
    priority: row.priority,
    settings: parseColumn(settingsSchema, row.settings, "forge_branch_protections.settings"),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }));
}

/** Adds a rule. Throws `conflict` for a name that a rule of the repository has. */
export async function insertBranchProtection(
  tx: Transaction,
  repositoryId: RepositoryId,
  { ruleName, priority, settings }: Pick<BranchProtection, "ruleName" | "priority" | "settings">,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_branch_protections (repository_id, rule_name, priority, settings, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
    repositoryId,
    ruleName,
    priority,
    JSON.stringify(settings),
    tx.now,
    tx.now,
  );
}

/** Changes a rule. */
export async function updateBranchProtection(
  tx: Transaction,
  repositoryId: RepositoryId,
  { ruleName, priority, settings }: Pick<BranchProtection, "ruleName" | "priority" | "settings">,
): Promise<void> {
  await tx.run(
    `UPDATE forge_branch_protections SET priority = ?, settings = ?, updated_at = ?
     WHERE repository_id = ? AND rule_name = ?`,
    priority,
    JSON.stringify(settings),
    tx.now,
    repositoryId,
    ruleName,
  );
}

/** Removes a rule and returns whether it existed. */
export async function deleteBranchProtection(
  db: Queries,
  repositoryId: RepositoryId,
  ruleName: string,
): Promise<boolean> {
  const { changes } = await db.run(
    "DELETE FROM forge_branch_protections WHERE repository_id = ? AND rule_name = ?",
    repositoryId,
    ruleName,
  );
  return changes > 0;
}

interface Row {
  id: number;
  rule_name: string;
  priority: number;
  settings: string;
  created_at: number;
  updated_at: number;
}
