import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { generated, id, json, now, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { RepositoryId } from "../ids.ts";

const tagProtections = defineTable("forge_tag_protections", {
  id: generated(id<number>()),
  repositoryId: id<RepositoryId>(),
  /** A glob, or a regular expression between slashes. */
  namePattern: text(),
  userIds: json(z.array(z.int().brand<"UserId">())),
  teamIds: json(z.array(z.int().brand<"TeamId">())),
  createdAt: now(),
  updatedAt: { ...now(), given: "may" as const },
});
/** A rule that lets only the listed users and teams change the tags that match. Times are epoch milliseconds. */
export type TagProtection = RecordOf<typeof tagProtections>;

export type TagProtectionFields = Pick<TagProtection, "namePattern" | "userIds" | "teamIds">;

/** Returns all rules of a repository, the oldest first. */
export function listTagProtections(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<TagProtection[]> {
  return tagProtections.list(db, { repositoryId }, { order: "id" });
}

/** Adds a rule. Throws `conflict` for a pattern that another rule of the repository has. */
export function insertTagProtection(
  tx: Transaction,
  repositoryId: RepositoryId,
  fields: TagProtectionFields,
): Promise<TagProtection> {
  return tagProtections.insert(tx, { repositoryId, ...fields });
}

/** Changes a rule. Throws `conflict` as `insertTagProtection` does. */
export function updateTagProtection(
  tx: Transaction,
  { id: ruleId, repositoryId }: Pick<TagProtection, "id" | "repositoryId">,
  fields: TagProtectionFields,
): Promise<TagProtection | undefined> {
  const where = { id: ruleId, repositoryId };
  return tagProtections.change(tx, where, { ...fields, updatedAt: tx.now });
}

/** Removes a rule and returns whether it existed. */
export async function deleteTagProtection(
  db: Queries,
  repositoryId: RepositoryId,
  ruleId: number,
): Promise<boolean> {
  return (await tagProtections.delete(db, { id: ruleId, repositoryId })) > 0;
}
