import type { QueryOf } from "../../contract/endpoint.ts";
import { notificationEndpoints } from "../../contract/forge/notifications.ts";
import { modifiedSince } from "../../http/conditional.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Notifications, MarkAllOptions, ThreadListOptions } from "./notifications.service.ts";
import { toEventsAnswer, toKnownRevision } from "./stream-events.ts";
import type { ThreadStreams } from "./thread-streams.ts";
import { toThreadListAnswer } from "./thread-list.view.ts";
import { toThreadView } from "./thread.view.ts";

export interface NotificationRoutesDeps {
  readonly notifications: Notifications;
  readonly streams: ThreadStreams;
  readonly urls: ForgeUrls;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Routes of a user's notification threads. */
export function notificationRoutes(deps: NotificationRoutesDeps): Route[] {
  const { notifications, streams, urls, clock } = deps;
  const list = async (caller: ForgeCaller, request: ServerRequest, options: ThreadListOptions) => {
    const found = await notifications.listSince(caller, options, modifiedSince(request.headers));
    return toThreadListAnswer(found, urls, clock());
  };
  const markAll = async (caller: ForgeCaller, options: MarkAllOptions) => {
    const { threads, total } = await notifications.markAll(caller, options);
    return { status: 205, body: threads.map((each) => toThreadView(each, urls)), total } as const;
  };
  return [
    handle(notificationEndpoints.listNotifications, ({ caller, query, request }) =>
      list(caller, request, toThreadListOptions(query)),
    ),
    handle(notificationEndpoints.markNotifications, ({ caller, query }) =>
      markAll(caller, toMarkAllOptions(query)),
    ),
    handle(notificationEndpoints.countNotifications, async ({ caller }) => ({
      status: 200,
      body: { new: await notifications.countUnread(caller) },
    })),
    handle(notificationEndpoints.streamNotifications, async ({ caller, request }) =>
      toEventsAnswer(
        streams.open(caller, toKnownRevision(request.headers["last-event-id"])),
        request.signal,
        urls,
      ),
    ),
    handle(notificationEndpoints.getNotification, async ({ caller, params }) => ({
      status: 200,
      body: toThreadView(await notifications.get(caller, params.id), urls),
    })),
    handle(notificationEndpoints.markNotification, async ({ caller, params, query }) => ({
      status: 205,
      body: toThreadView(await notifications.mark(caller, params.id, query["to-status"]), urls),
    })),
    handle(
      notificationEndpoints.listRepositoryNotifications,
      ({ opened, caller, query, request }) =>
        list(caller, request, toThreadListOptions(query, opened.repository.id)),
    ),
    handle(notificationEndpoints.markRepositoryNotifications, ({ opened, caller, query }) =>
      markAll(caller, toMarkAllOptions(query, opened.repository.id)),
    ),
  ];
}

function toThreadListOptions(
  query: QueryOf<typeof notificationEndpoints.listNotifications>,
  repositoryId?: ThreadListOptions["repositoryId"],
): ThreadListOptions {
  return {
    ...(repositoryId === undefined ? {} : { repositoryId }),
    all: query.all,
    statuses: query["status-types"],
    kinds: query["subject-type"],
    since: query.since,
    before: query.before,
    page: query.page,
    limit: query.limit,
  };
}

function toMarkAllOptions(
  query: QueryOf<typeof notificationEndpoints.markNotifications>,
  repositoryId?: ThreadListOptions["repositoryId"],
): MarkAllOptions {
  return {
    ...(repositoryId === undefined ? {} : { repositoryId }),
    all: query.all,
    statuses: query["status-types"],
    lastReadAt: query.last_read_at,
    status: query["to-status"],
  };
}
