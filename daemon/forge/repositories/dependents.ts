import {
  deleteRepository,
  findRepositoryById,
  listRepositoriesOf,
  ownsRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { insertChore, markForMove } from "../../../storage/tables/forge/repositories/moves.ts";
import { AppError } from "../../errors.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { AccountDependents } from "../accounts/remove-user.ts";
import type { Emit } from "../events.ts";
import { enqueueCleanup } from "./folder-moves.ts";

/**
 * Updates the repositories of a renamed or deleted account: the rows at once, the folders by a job enqueued in the same
 * transaction.
 */
export function createRepositoryDependents({
  enqueue,
  emit,
}: {
  readonly enqueue: Enqueue;
  readonly emit: Emit;
}): AccountDependents {
  return {
    async assertNoneOwned(tx, account) {
      if (await ownsRepository(tx, account.id))
        throw new AppError(
          "unprocessable",
          `user still has ownership of repositories [uid: ${account.id}]`,
        );
    },

    async removeAll(tx, account) {
      const owned = await listRepositoriesOf(tx, account.id);
      const owner = await findUserById(tx, account.id);
      for (const { id, path } of owned) {
        const repository = await findRepositoryById(tx, id);
        if (repository !== undefined && owner !== undefined)
          await emit(tx, "repository.purged", { repository, owner });
        await deleteRepository(tx, id);
        await insertChore(tx, { kind: "remove", path, target: undefined });
      }
      if (owned.length > 0) await enqueueCleanup(enqueue, tx);
    },

    async forget(tx, account) {
      await insertChore(tx, { kind: "remove", path: account.lowerName, target: undefined });
      await enqueueCleanup(enqueue, tx);
    },

    async rename(tx, account, formerName) {
      const former = formerName.toLowerCase();
      if (former === account.lowerName) return;
      await markForMove(tx, account.id);
      await insertChore(tx, { kind: "follow", path: former, target: account.lowerName });
      await enqueueCleanup(enqueue, tx);
    },
  };
}
