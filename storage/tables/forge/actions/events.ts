import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, text } from "../../columns.ts";
import { defineTable } from "../../table.ts";
import type { RepositoryId } from "../ids.ts";

const workflowEvents = defineTable("forge_action_events", {
  repositoryId: id<RepositoryId>(),
  event: text(),
});

/** Replaces the events that the workflows of a repository's default branch name. Idempotent. */
export async function replaceWorkflowEvents(
  tx: Transaction,
  repositoryId: RepositoryId,
  events: ReadonlySet<string>,
): Promise<void> {
  await workflowEvents.delete(tx, { repositoryId });
  for (const event of events) await workflowEvents.insert(tx, { repositoryId, event });
}

/** Returns whether a workflow on the default branch of a repository names an event. */
export const hasWorkflowEvent = (
  db: Queries,
  repositoryId: RepositoryId,
  event: string,
): Promise<boolean> => workflowEvents.exists(db, { repositoryId, event });
