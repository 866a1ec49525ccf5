import type { Transaction } from "../../../storage/engine/database.ts";
import {
  deleteVersion,
  findVersion,
  type ForgePackage,
  type ForgePackageVersion,
  insertFile,
  insertVersion,
  linkPackage,
  openPackage,
} from "../../../storage/tables/forge/packages/packages.ts";
import type { ObjectDigests } from "../../../storage/objects/object-store.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import type { OwnerRoom } from "./owner-room.ts";
import { findLinkable } from "./repository-links.ts";
import type { OwnedVersion, Emit } from "../events.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** An uploaded file to add to a version. */
export interface NewFile {
  readonly ownerId: UserId;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  /** JSON; stored when the version is new. */
  readonly metadata: string;
  readonly digests: ObjectDigests;
}

/**
 * Adds a file whose object is published. Creates its package and version when they are missing. Refuses with `conflict`
 * an existing file, with `mustBeNew` also an existing version, with `too_large` a file for which the owner has no room, and
 * with `not_found` a deleted owner.
 */
export async function recordFile(
  tx: Transaction,
  emit: Emit,
  file: NewFile,
  {
    actor,
    mustBeNew,
    linkTo,
    room,
  }: {
    readonly actor: ForgeUser;
    readonly mustBeNew: boolean;
    readonly room: Pick<OwnerRoom, "assertKept">;
    /** The owner's repository to link an unlinked package to, if the actor may write to it. */
    readonly linkTo?: string | undefined;
  },
): Promise<{ readonly package: ForgePackage; readonly version: ForgePackageVersion }> {
  const owner = await findUserById(tx, file.ownerId);
  if (owner === undefined) throw notFound();
  const opened = await linked(tx, await openPackage(tx, file), { owner, actor, linkTo });
  const known = await findVersion(tx, opened, file.version);
  if (known !== undefined && mustBeNew) throw versionExists();
  const version =
    known ??
    (await insertVersion(tx, opened, {
      version: file.version,
      creatorId: actor.id,
      metadata: file.metadata,
    }));
  if (version === undefined) throw versionExists();
  const added = await insertFile(tx, {
    ...file.digests,
    versionId: version.id,
    name: file.filename,
  });
  if (added === undefined) throw fileExists();
  await room.assertKept(tx, file.ownerId);
  if (known === undefined)
    await emit(tx, "package", { action: "created", package: opened, version, owner, actor });
  return { package: opened, version };
}

async function linked(
  tx: Transaction,
  opened: ForgePackage,
  {
    owner,
    actor,
    linkTo,
  }: {
    readonly owner: ForgeUser;
    readonly actor: ForgeUser;
    readonly linkTo: string | undefined;
  },
): Promise<ForgePackage> {
  if (linkTo === undefined || opened.repositoryId !== undefined) return opened;
  const repository = await findLinkable(tx, owner, linkTo, actor);
  if (repository === undefined) return opened;
  await linkPackage(tx, opened.id, repository.id);
  return { ...opened, repositoryId: repository.id };
}

/** Deletes a version with its files; deletes the package when it was the last version. */
export async function removeVersion(
  tx: Transaction,
  emit: Emit,
  subject: OwnedVersion & { readonly actor: ForgeUser },
): Promise<void> {
  await emit(tx, "package", { ...subject, action: "deleted" });
  await deleteVersion(tx, { id: subject.version.id, packageId: subject.package.id });
}

export const fileExists = (): AppError =>
  new AppError("conflict", "a file with this name exists in this version");

export const versionExists = (): AppError =>
  new AppError("conflict", "this version exists already, and cannot be published again");
