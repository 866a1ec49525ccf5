import type { Queries, Transaction } from "../../../engine/database.ts";
import type { RepositoryId } from "../ids.ts";

/** Replaces the events that the workflows of a repository's default branch name. Idempotent. */
export async function replaceWorkflowEvents(
  tx: Transaction,
  repositoryId: RepositoryId,
  events: ReadonlySet<string>,
): Promise<void> {
  await tx.run("DELETE FROM forge_action_events WHERE repository_id = ?", repositoryId);
  for (const event of events)
    await tx.run(
      "INSERT INTO forge_action_events (repository_id, event) VALUES (?, ?)",
      repositoryId,
      event,
    );
}

/** Returns whether a workflow on the default branch of a repository names an event. */
export async function hasWorkflowEvent(
  db: Queries,
  repositoryId: RepositoryId,
  event: string,
): Promise<boolean> {
  const row = await db.get<{ found: number }>(
    "SELECT 1 AS found FROM forge_action_events WHERE repository_id = ? AND event = ?",
    repositoryId,
    event,
  );
  return row !== undefined;
}
