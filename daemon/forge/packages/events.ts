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
 * A subscriber to changes of packages. Each function runs in the transaction of the change, so the jobs that it
 * enqueues are committed with it.
 */
export interface PackageEvents {
  /** A version was published. Not called for further files of a version. */
  created?(tx: Transaction, subject: OwnedVersion & { readonly actor: ForgeUser }): Promise<void>;
  /** A version is about to be deleted. Not called when an account is purged. */
  deleted?(tx: Transaction, subject: OwnedVersion & { readonly actor: ForgeUser }): Promise<void>;
}
