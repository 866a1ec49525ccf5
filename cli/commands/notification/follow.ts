import type { WireThread } from "../../../daemon/contract/forge/notifications.ts";
import { followThreads } from "../../client/follow-threads.ts";
import type { CliContext } from "../../context.ts";
import { type PageSource, readPages } from "../../output/pages.ts";
import type { ThreadStatusName } from "../../support/thread-columns.ts";

/** Which of the news are shown; everything when nothing is given. */
interface FollowFilter {
  readonly status?: readonly ThreadStatusName[];
  readonly type?: readonly string[];
  /** OWNER/NAME. */
  readonly repo?: string;
}

/**
 * The threads of a list, the last changed at the end, and then those that have news, as they come, without an end. The
 * stream is open before the list is read, so that nothing is missed between the two.
 */
export async function* listAndFollow(
  cli: CliContext,
  pages: PageSource<WireThread>,
  filter: FollowFilter,
): AsyncGenerator<WireThread, void, void> {
  const news = followThreads(cli, {
    onConnection: (isOpen) => {
      if (!isOpen) cli.io.note("Connection lost; reconnecting.");
    },
  });
  try {
    await news.next();
    const listed: WireThread[] = [];
    for await (const { items } of readPages(pages, cli.flags)) listed.push(...items);
    yield* listed.toReversed();
    const shown = new Set(listed.map((thread) => JSON.stringify(thread)));
    for await (const one of news) {
      if (one.kind === "count" || !matchesFilter(one.thread, filter)) continue;
      // Threads that changed while the list was read are in both.
      if (shown.delete(JSON.stringify(one.thread))) continue;
      yield one.thread;
    }
  } finally {
    await news.return();
  }
}

function matchesFilter(
  { unread, pinned, subject, repository }: WireThread,
  { status, type, repo }: FollowFilter,
): boolean {
  const is = unread ? "unread" : pinned ? "pinned" : "read";
  return (
    (status?.includes(is) ?? is !== "read") &&
    (type?.includes(subject?.type.toLowerCase() ?? "") ?? true) &&
    (repo === undefined || repository?.full_name.toLowerCase() === repo.toLowerCase())
  );
}
