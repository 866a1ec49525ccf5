import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import { deleteRedirect, putRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserByName,
  type ForgeUser,
  updateUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { nameTakenText, targetIsOrganization, userNotFound } from "../refusals.ts";
import type { AccountDependents } from "./dependents.ts";
import { assertUsableName } from "./names.ts";

/**
 * Renames a person (forge behaviour, 8.6). The old name redirects, unless only its case changed. Refuses with
 * `unprocessable` for an organization, an unusable name and a taken one; the present name is no change.
 */
export async function renameUser(
  { db, dependents }: { readonly db: Database; readonly dependents: readonly AccountDependents[] },
  username: string,
  newName: string,
): Promise<void> {
  const taken = () => new AppError("unprocessable", nameTakenText(newName));
  try {
    await db.transaction(async (tx) => {
      const user = await findUserByName(tx, username);
      if (user === undefined) throw userNotFound(username);
      if (user.kind === "organization") throw targetIsOrganization();
      if (user.name === newName) return;
      assertUsableName(newName);
      const owner = await findUserByName(tx, newName);
      if (owner !== undefined && owner.id !== user.id) throw taken();
      await rename(tx, user, newName, dependents);
    });
  } catch (error) {
    throw isConflict(error) && error.constraint?.includes("lower_name") ? taken() : error;
  }
}

async function rename(
  tx: Transaction,
  user: ForgeUser,
  newName: string,
  dependents: readonly AccountDependents[],
): Promise<void> {
  if (newName.toLowerCase() !== user.lowerName) {
    await deleteRedirect(tx, newName);
    await putRedirect(tx, user.lowerName, user.id);
  }
  const renamed = await updateUser(tx, user, { name: newName, updatedAt: tx.now });
  for (const dependent of dependents) await dependent.rename?.(tx, renamed, user.name);
}
