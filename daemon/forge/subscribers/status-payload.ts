import type { Transaction } from "../../../storage/engine/database.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { ForgeEvents } from "../events.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { toCommitView } from "../hooks/payloads.view.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import { toStatusView } from "../statuses/status.view.ts";

/** Returns the payload of a commit status. Users have only the members that anonymous callers see. */
export async function loadStatusPayload(
  tx: Transaction,
  { commit, author, ...details }: ForgeEvents["status"],
  urls: ForgeUrls,
): Promise<object> {
  const { owned, creator } = details;
  const { id } = owned.repository;
  const watchers = (await countWatchers(tx, [id])).get(id) ?? 0;
  const home = toUrl(urls, `/${owned.owner.name}/${owned.repository.name}`);
  const usernames = new Map(
    author === undefined ? [] : [[commit.author.email.toLowerCase(), author.name]],
  );
  const { status: state, ...report } = toStatusView(details, urls);
  return {
    commit: toCommitView(commit, home, usernames),
    context: report.context,
    created_at: report.created_at,
    description: report.description,
    id: report.id,
    repository: toRepositoryView({ ...owned, watchers, access: "owner", isSignedIn: false }, urls),
    sender: creator === undefined ? null : toEmbeddedUserView(creator, false, urls),
    sha: commit.id,
    state,
    target_url: report.target_url,
    updated_at: report.updated_at,
  };
}
