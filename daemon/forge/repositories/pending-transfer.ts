import type { Queries } from "../../../storage/engine/database.ts";
import { listTeamsByIds } from "../../../storage/tables/forge/accounts/teams.ts";
import { findTransfer } from "../../../storage/tables/forge/repositories/transfers.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { RepositoryDetails } from "./repository.view.ts";

/** Loads the pending transfer of a repository; undefined when it is not offered. */
export async function findPendingTransfer(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<RepositoryDetails["transfer"]> {
  const transfer = await findTransfer(db, repositoryId);
  if (transfer === undefined) return undefined;
  const doer = await findUserById(db, transfer.doerId);
  const recipient = await findUserById(db, transfer.recipientId);
  const teams = await listTeamsByIds(db, transfer.teamIds);
  return doer && recipient && { doer, recipient, teams };
}
