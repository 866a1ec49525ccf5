import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { HookPublisher } from "../hooks/publisher.ts";
import { toCommitView } from "../hooks/payloads.view.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import { toStatusView } from "./status.view.ts";
import type { PublishStatus } from "./statuses.service.ts";

/**
 * Returns the function that publishes commit statuses to hooks. Users have only the members
 * that anonymous callers see.
 */
export function createStatusPublisher({
  publisher,
  urls,
}: {
  readonly publisher: Pick<HookPublisher, "publish" | "hasSubscribers">;
  readonly urls: ForgeUrls;
}): PublishStatus {
  return async (tx, { commit, author, ...details }) => {
    const { owned, creator } = details;
    const { id: repositoryId } = owned.repository;
    if (!(await publisher.hasSubscribers(tx, repositoryId, ["status"]))) return;
    const watchers = (await countWatchers(tx, [repositoryId])).get(repositoryId) ?? 0;
    const home = toUrl(urls, `/${owned.owner.name}/${owned.repository.name}`);
    const usernames = new Map(
      author === undefined ? [] : [[commit.author.email.toLowerCase(), author.name]],
    );
    const { status: state, ...report } = toStatusView(details, urls);
    const payload = {
      commit: toCommitView(commit, home, usernames),
      context: report.context,
      created_at: report.created_at,
      description: report.description,
      id: report.id,
      repository: toRepositoryView(
        { ...owned, watchers, access: "owner", isSignedIn: false },
        urls,
      ),
      sender: creator === undefined ? null : toEmbeddedUserView(creator, false, urls),
      sha: commit.id,
      state,
      target_url: report.target_url,
      updated_at: report.updated_at,
    };
    await publisher.publish(tx, { event: "status", repositoryId, payload });
  };
}
