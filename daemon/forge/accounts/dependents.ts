import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";

/**
 * What hangs on an account and belongs to another part of the forge: its repositories, its packages. Each function runs
 * inside the transaction of the change, so rows go with the account or not at all. Files are not touched here: a job
 * that is enqueued in the same transaction does that, so that a crash leaves nothing half done.
 */
export interface AccountDependents {
  /** Refuses with `unprocessable` while the account owns something, in the words of the document (forge behaviour, 3). */
  assertNoneOwned(tx: Transaction, account: ForgeUser): Promise<void>;
  /** Removes everything that the account, a person or an organization, owns. Does nothing when it owns nothing. */
  removeAll(tx: Transaction, account: ForgeUser): Promise<void>;
  /** Removes what remains of a person elsewhere, such as watches; called for every deletion, after `removeAll` for a purge. */
  forget?(tx: Transaction, account: ForgeUser): Promise<void>;
  /** Follows a change of name, whether in letters or in case only. */
  rename?(tx: Transaction, account: ForgeUser, formerName: string): Promise<void>;
}
