import type { Transaction } from "../../../storage/engine/database.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { type RepositoryId, toRepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { ForgeEvents } from "../events.ts";
import { toPackagePayload } from "../hooks/payloads.view.ts";
import { toPackageView } from "../packages/package.view.ts";
import { loadRepositoryDetails } from "../packages/repository-links.ts";
import type { ForgeUrls } from "../urls.ts";

/**
 * Returns the payload of a package and the id of the repository that it is linked to. Users have only the members that
 * anonymous callers see.
 */
export async function loadPackagePayload(
  tx: Transaction,
  { actor, action, ...subject }: ForgeEvents["package"],
  urls: ForgeUrls,
): Promise<{ readonly payload: object; readonly repositoryId: RepositoryId | undefined }> {
  const { creatorId } = subject.version;
  const creator = creatorId === undefined ? undefined : await findUserById(tx, creatorId);
  const { repositoryId } = subject.package;
  const visible = await loadRepositoryDetails(tx, [repositoryId], undefined);
  const linked = visible.get(repositoryId ?? toRepositoryId(-1));
  const view = toPackageView({ ...subject, creator, linked }, undefined, urls);
  const repository =
    repositoryId === undefined ? undefined : await findRepositoryById(tx, repositoryId);
  const owner = repository && (await findUserById(tx, repository.ownerId));
  const published = {
    view: {
      ...view,
      // The reference includes these members of an account here, although anonymous callers do not see them.
      owner: { ...view.owner, active: subject.owner.isActive },
      creator: { ...view.creator, active: creator?.isActive ?? false },
    },
    owner: subject.owner,
    sender: actor,
    // The hooks of the repository receive the event even if the repository is private.
    linked: repository && owner && { repository, owner },
  };
  return {
    payload: await toPackagePayload(tx, action, published, urls),
    repositoryId: published.linked?.repository.id,
  };
}
