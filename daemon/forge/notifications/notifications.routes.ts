import type { QueryOf } from "../../contract/endpoint.ts";
import { notificationEndpoints } from "../../contract/forge/notifications.ts";
import { modifiedSince } from "../../http/conditional.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import { page, reply } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
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
    return reply(toThreadListAnswer(found, urls, clock()));
  };
  const markAll = async (caller: ForgeCaller, options: MarkAllOptions) => {
    const { threads, total } = await notifications.markAll(caller, options);
    return page(
      threads.map((each) => toThreadView(each, urls)),
      total,
    );
  };
  return [
    ...serve(notificationEndpoints, {
      listNotifications: ({ caller, query, request }) =>
        list(caller, request, toThreadListOptions(query)),
      markNotifications: ({ caller, query }) => markAll(caller, toMarkAllOptions(query)),
      countNotifications: async ({ caller }) => ({ new: await notifications.countUnread(caller) }),
      streamNotifications: async ({ caller, request }) =>
        toEventsAnswer(
          streams.open(caller, toKnownRevision(request.headers["last-event-id"])),
          request.signal,
          urls,
        ),
      getNotification: async ({ caller, params }) =>
        toThreadView(await notifications.get(caller, params.id), urls),
      markNotification: async ({ caller, params, query }) =>
        toThreadView(await notifications.mark(caller, params.id, query["to-status"]), urls),
      listRepositoryNotifications: ({ opened, caller, query, request }) =>
        list(caller, request, toThreadListOptions(query, opened.repository.id)),
      markRepositoryNotifications: ({ opened, caller, query }) =>
        markAll(caller, toMarkAllOptions(query, opened.repository.id)),
    }),
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
