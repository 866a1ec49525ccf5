import type { Transaction } from "../../../storage/engine/database.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeUrls } from "../urls.ts";
import type { OwnedVersion, PackageEvents } from "./events.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import { loadRepositoryDetails } from "./repository-links.ts";
import { toPackageView } from "./package.view.ts";
import { toRepositoryId } from "../../../storage/tables/forge/ids.ts";

/** Publishes package events to hooks. */
export interface PackagePublisher {
  package(
    tx: Transaction,
    action: "created" | "deleted",
    subject: {
      readonly view: object;
      readonly owner: ForgeUser;
      readonly sender: ForgeUser;
      readonly linked: OwnedRepository | undefined;
    },
  ): Promise<void>;
}

/** Publishes changes of packages to hooks. Users have only the members that anonymous callers see. */
export function createPackageEvents(publisher: PackagePublisher, urls: ForgeUrls): PackageEvents {
  const publish = async (
    tx: Transaction,
    action: "created" | "deleted",
    subject: OwnedVersion & { readonly actor: ForgeUser },
  ) => {
    const { creatorId } = subject.version;
    const creator = creatorId === undefined ? undefined : await findUserById(tx, creatorId);
    const { repositoryId } = subject.package;
    const visible = await loadRepositoryDetails(tx, [repositoryId], undefined);
    const linked = visible.get(repositoryId ?? toRepositoryId(-1));
    const view = toPackageView({ ...subject, creator, linked }, undefined, urls);
    // The reference includes these members of an account here, although anonymous callers do not see them.
    const owned = { ...view.owner, active: subject.owner.isActive };
    const created = { ...view.creator, active: creator?.isActive ?? false };
    const repository =
      repositoryId === undefined ? undefined : await findRepositoryById(tx, repositoryId);
    const owner = repository && (await findUserById(tx, repository.ownerId));
    await publisher.package(tx, action, {
      view: { ...view, owner: owned, creator: created },
      owner: subject.owner,
      sender: subject.actor,
      // The hooks of the repository receive the event even if the repository is private.
      linked: repository && owner && { repository, owner },
    });
  };
  return {
    created: (tx, subject) => publish(tx, "created", subject),
    deleted: (tx, subject) => publish(tx, "deleted", subject),
  };
}
