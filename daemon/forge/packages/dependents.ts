import { deletePackagesOf, ownsPackage } from "../../../storage/tables/forge/packages/packages.ts";
import { AppError } from "../../errors.ts";
import type { AccountDependents } from "../accounts/remove-user.ts";

/** Deletes the packages of an account with it. A scheduled sweep removes their objects. */
export function createPackageDependents(): AccountDependents {
  return {
    async assertNoneOwned(tx, account) {
      if (await ownsPackage(tx, account.id))
        throw new AppError(
          "unprocessable",
          `user still has ownership of packages [uid: ${account.id}]`,
        );
    },

    removeAll: (tx, account) => deletePackagesOf(tx, account.id),
  };
}
