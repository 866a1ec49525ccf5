import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { generated, id, integer, json, now, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
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

const protections = defineTable("forge_branch_protections", {
  id: generated(integer()),
  repositoryId: unread(id<RepositoryId>()),
  ruleName: text(),
  priority: integer(),
  settings: json(settingsSchema),
  createdAt: now(),
  updatedAt: now(),
});
/** A rule that protects the branches whose names match. Times are epoch milliseconds. */
export type BranchProtection = RecordOf<typeof protections>;

/** The part of a rule that clients write. */
type WrittenRule = Pick<BranchProtection, "ruleName" | "priority" | "settings">;

/** Returns all rules of a repository, in the order in which they are tried. */
export const listBranchProtections = (
  db: Queries,
  repositoryId: RepositoryId,
): Promise<BranchProtection[]> =>
  protections.list(db, { repositoryId }, { order: "priority, created_at, rule_name" });

/** Adds a rule. Throws `conflict` for a name that a rule of the repository has. */
export async function insertBranchProtection(
  tx: Transaction,
  repositoryId: RepositoryId,
  { ruleName, priority, settings }: WrittenRule,
): Promise<void> {
  await protections.insert(tx, { repositoryId, ruleName, priority, settings });
}

/** Changes a rule. */
export async function updateBranchProtection(
  tx: Transaction,
  repositoryId: RepositoryId,
  { ruleName, priority, settings }: WrittenRule,
): Promise<void> {
  const changes = { priority, settings, updatedAt: tx.now };
  await protections.update(tx, { repositoryId, ruleName }, changes);
}

/** Removes a rule and returns whether it existed. */
export async function deleteBranchProtection(
  db: Queries,
  repositoryId: RepositoryId,
  ruleName: string,
): Promise<boolean> {
  return (await protections.delete(db, { repositoryId, ruleName })) > 0;
}
