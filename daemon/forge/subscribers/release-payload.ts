import type { Transaction } from "../../../storage/engine/database.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { ForgeEvents } from "../events.ts";
import { toReleaseView } from "../releases/releases.view.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import type { ForgeUrls } from "../urls.ts";

/** Returns the payload of a change of a release. Users have only the members that anonymous callers see. */
export async function toReleasePayload(
  tx: Transaction,
  { actor, action: _action, ...details }: ForgeEvents["release"],
  action: string,
  urls: ForgeUrls,
): Promise<object> {
  const { owned } = details;
  const { id } = owned.repository;
  const watchers = (await countWatchers(tx, [id])).get(id) ?? 0;
  return {
    action,
    release: toReleaseView(details, "embedded", urls),
    repository: toRepositoryView({ ...owned, watchers, access: "owner", isSignedIn: false }, urls),
    sender: toEmbeddedUserView(actor, false, urls),
  };
}
