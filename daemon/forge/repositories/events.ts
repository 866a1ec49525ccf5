import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";

/** A repository with its owner as of the transaction. */
export interface OwnedRepository {
  readonly repository: ForgeRepository;
  readonly owner: ForgeUser;
}

/** One ref that a push moved. `before` is undefined for a created ref, `after` for a deleted one. */
export interface RefChange {
  /** The full name, such as `refs/heads/main`. */
  readonly ref: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/**
 * A subscriber to changes of repositories, such as hooks and notifications. Each function runs in the transaction of
 * the change, so the jobs that it enqueues are committed with it.
 */
export interface RepositoryEvents {
  /** A repository was created or adopted. */
  created?(
    tx: Transaction,
    owned: OwnedRepository & { readonly actor: ForgeUser; readonly isAdopted: boolean },
  ): Promise<void>;
  /** A repository was edited; `former` is the row before the edit. */
  edited?(
    tx: Transaction,
    owned: OwnedRepository & { readonly actor: ForgeUser; readonly former: ForgeRepository },
  ): Promise<void>;
  /** A repository was offered to another owner, who may now read and accept it. */
  offered?(
    tx: Transaction,
    owned: OwnedRepository & { readonly recipient: ForgeUser; readonly actor: ForgeUser },
  ): Promise<void>;
  /** An offer was rejected or withdrawn; its recipient may no longer read the repository. */
  transferEnded?(tx: Transaction, owned: OwnedRepository): Promise<void>;
  /** A repository was transferred; `former` is the previous owner. */
  transferred?(
    tx: Transaction,
    owned: OwnedRepository & { readonly former: ForgeUser; readonly actor: ForgeUser },
  ): Promise<void>;
  /** A repository is about to be deleted. Not called when an account is purged. */
  deleted?(tx: Transaction, owned: OwnedRepository & { readonly actor: ForgeUser }): Promise<void>;
  /** A push has moved refs. */
  pushed?(
    tx: Transaction,
    owned: OwnedRepository & { readonly pusher: ForgeUser; readonly changes: readonly RefChange[] },
  ): Promise<void>;
}
