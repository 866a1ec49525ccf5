import type { Queries } from "../../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import {
  findPackage,
  type ForgePackage,
} from "../../../../storage/tables/forge/packages/packages.ts";
import { packages } from "../../../contract/permission.ts";
import { AppError } from "../../../errors.ts";
import type { ForgeCaller } from "../../caller.ts";
import { grantPackages } from "../access.ts";
import { assertImageName, CONTAINER, imageUnknown, type ImageAt } from "./references.ts";

/**
 * Returns the owner of an image if the caller may read it. An anonymous caller is told to sign in instead of that there is no
 * such owner: clients send credentials only when they are asked for them.
 */
export async function getImageReader(
  db: Queries,
  at: ImageAt,
  caller: ForgeCaller | undefined,
): Promise<ForgeUser> {
  assertImageName(at);
  try {
    const permission = packages("read");
    return (await grantPackages(db, at.owner, { caller, permission })).owner;
  } catch (error) {
    if (caller === undefined && error instanceof AppError && error.code === "not_found")
      throw new AppError("unauthenticated", "sign in to read this image", { cause: error });
    throw error;
  }
}

/** Returns the owner of an image if the caller may change it. */
export async function getImageWriter(
  db: Queries,
  at: ImageAt,
  caller: ForgeCaller,
): Promise<ForgeUser> {
  assertImageName(at);
  const permission = packages("write");
  return (await grantPackages(db, at.owner, { caller, permission })).owner;
}

/** Returns the package of an image. Refuses with `not_found` when nothing was published. */
export async function getImagePackage(
  db: Queries,
  owner: ForgeUser,
  { name }: ImageAt,
): Promise<ForgePackage> {
  const found = await findPackage(db, { ownerId: owner.id, type: CONTAINER, name });
  if (found === undefined) throw imageUnknown();
  return found;
}
