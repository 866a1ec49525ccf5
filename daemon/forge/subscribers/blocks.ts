import type { Transaction } from "../../../storage/engine/database.ts";
import { assertNotBlocked } from "../accounts/not-blocked.ts";
import type { IssueChange, Subscribers } from "../events.ts";
import { findAccess, reaches } from "../repositories/access.ts";

/**
 * Refuses what blocked users may not do, in the transaction of the change: issues and pull requests, comments, reviews and
 * forks. Who administers the repository is not blocked in it.
 */
export function createBlockSubscribers(): Subscribers {
  return {
    async issue(tx, change) {
      if (change.action === "opened") await assertMayTakePart(tx, change, false);
      if (change.action === "assigned")
        await assertNotBlocked(tx, change.actor.id, change.assigned ?? []);
    },
    comment: (tx, change) =>
      change.action === "created" ? assertMayTakePart(tx, change, true) : Promise.resolve(),
    review: (tx, change) => assertMayTakePart(tx, change, true),
    fork: (tx, { parent, actor }) => assertNotBlocked(tx, actor.id, [parent.owner.id]),
  };

  /** @param isAnswer whether the author of the issue has a say, too */
  async function assertMayTakePart(
    tx: Transaction,
    { owned, issue, actor }: Pick<IssueChange, "owned" | "issue" | "actor">,
    isAnswer: boolean,
  ): Promise<void> {
    if (reaches(await findAccess(tx, owned, actor, "any"), "admin")) return;
    const author = isAnswer ? issue.authorId : undefined;
    await assertNotBlocked(tx, actor.id, [owned.owner.id, author]);
  }
}
