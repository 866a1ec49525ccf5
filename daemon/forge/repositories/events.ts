import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";

/** A repository with its owner as of the transaction. */
export interface OwnedRepository {
  readonly repository: ForgeRepository;
  readonly owner: ForgeUser;
}

/** One ref that a push moved. An absent side is a ref that did not exist: made or deleted. */
export interface RefChange {
  /** In full, such as `refs/heads/main`. */
  readonly ref: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/**
 * What happens to repositories, for hooks and notifications. Each function runs inside the transaction of the change,
 * so what it enqueues exists if and only if the change does.
 */
export interface RepositoryEvents {
  /** A repository was made, or adopted from files that lay on disk; default hooks are copied in both cases. */
  created?(
    tx: Transaction,
    what: OwnedRepository & { readonly actor: ForgeUser; readonly isAdopted: boolean },
  ): Promise<void>;
  /** A repository was changed by somebody; `repository` is as of now, `former` as it was. */
  edited?(
    tx: Transaction,
    what: OwnedRepository & { readonly actor: ForgeUser; readonly former: ForgeRepository },
  ): Promise<void>;
  /** A repository is offered to somebody, who may look at it from now on and accept it. */
  offered?(
    tx: Transaction,
    what: OwnedRepository & { readonly recipient: ForgeUser; readonly actor: ForgeUser },
  ): Promise<void>;
  /** An offer was rejected or taken back: whom it was made to may look no more. */
  transferEnded?(tx: Transaction, what: OwnedRepository): Promise<void>;
  /** A repository has another owner; `former` is who had it. */
  transferred?(
    tx: Transaction,
    what: OwnedRepository & { readonly former: ForgeUser; readonly actor: ForgeUser },
  ): Promise<void>;
  /** A repository is about to go. Not told when an account is purged (forge behaviour, 8.4). */
  deleted?(tx: Transaction, what: OwnedRepository & { readonly actor: ForgeUser }): Promise<void>;
  /** A push has moved refs; git has them already. */
  pushed?(
    tx: Transaction,
    what: OwnedRepository & { readonly pusher: ForgeUser; readonly changes: readonly RefChange[] },
  ): Promise<void>;
}
