import type { Transaction } from "../../../storage/engine/database.ts";
import type {
  ForgePackage,
  ForgePackageVersion,
} from "../../../storage/tables/forge/packages/packages.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";

/** A version with its package and its owner as of the transaction. */
export interface OwnedVersion {
  readonly package: ForgePackage;
  readonly version: Pick<ForgePackageVersion, "id" | "version" | "creatorId" | "createdAt">;
  readonly owner: ForgeUser;
}

/**
 * What happens to packages, for hooks. Each function runs inside the transaction of the change, so what it enqueues
 * exists if and only if the change does.
 */
export interface PackageEvents {
  /** A version was published. A further file of it is not told. */
  created?(tx: Transaction, what: OwnedVersion & { readonly actor: ForgeUser }): Promise<void>;
  /** A version is about to go. Not told when an account is purged. */
  deleted?(tx: Transaction, what: OwnedVersion & { readonly actor: ForgeUser }): Promise<void>;
}
