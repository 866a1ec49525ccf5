import type { z } from "zod";
import type { SqlValue } from "../../engine/database.ts";

// Ids of rows. A brand keeps an id of one table from being taken for another's; endpoints brand the ids in their paths.

/** A repository. */
export type RepositoryId = number & z.$brand<"RepositoryId">;
/** A milestone of a repository. */
export type MilestoneId = number & z.$brand<"MilestoneId">;
export type HookId = number & z.$brand<"HookId">;
export type DeliveryId = number & z.$brand<"DeliveryId">;

/** Returns the id in the text or column that references a repository. */
export const toRepositoryId = (text: SqlValue | undefined): RepositoryId =>
  Number(text) as RepositoryId;
/** Returns the id in the text that names a milestone. */
export const toMilestoneId = (text: string): MilestoneId => Number(text) as MilestoneId;
