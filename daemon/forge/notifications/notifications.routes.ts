import { createHash } from "node:crypto";
import type { QueryOf } from "../../contract/endpoint.ts";
import {
  countNotifications,
  getNotification,
  listNotifications,
  listRepositoryNotifications,
  markNotification,
  markNotifications,
  markRepositoryNotifications,
  streamNotifications,
  type WireThread,
} from "../../contract/forge/notifications.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import { handle } from "../handle.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Notifications, WantedMarks, WantedThreads } from "./notifications.service.ts";
import { toEventsAnswer, toKnownRevision } from "./stream-events.ts";
import type { ThreadStreams } from "./thread-streams.ts";
import { toThreadView } from "./thread.view.ts";

export interface NotificationRoutesDeps {
  readonly notifications: Notifications;
  readonly streams: ThreadStreams;
  readonly urls: ForgeUrls;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Routes of a person's threads (forge behaviour, 19). */
export function notificationRoutes(deps: NotificationRoutesDeps): Route[] {
  const { notifications, streams, urls } = deps;
  const list = (caller: ForgeCaller, request: ServerRequest, wanted: WantedThreads) =>
    listUnlessKnown(deps, caller, request, wanted);
  const markAll = async (caller: ForgeCaller, wanted: WantedMarks) => {
    const { threads, total } = await notifications.markAll(caller, wanted);
    return { status: 205, body: threads.map((each) => toThreadView(each, urls)), total } as const;
  };
  return [
    handle(listNotifications, ({ caller, query, request }) =>
      list(caller, request, toWantedThreads(query)),
    ),
    handle(markNotifications, ({ caller, query }) => markAll(caller, toWantedMarks(query))),
    handle(countNotifications, async ({ caller }) => ({
      status: 200,
      body: { new: await notifications.countUnread(caller) },
    })),
    handle(streamNotifications, async ({ caller, request }) =>
      toEventsAnswer(
        streams.open(caller, toKnownRevision(request.headers["last-event-id"])),
        request.signal,
        urls,
      ),
    ),
    handle(getNotification, async ({ caller, params }) => ({
      status: 200,
      body: toThreadView(await notifications.get(caller, params.id), urls),
    })),
    handle(markNotification, async ({ caller, params, query }) => ({
      status: 205,
      body: toThreadView(await notifications.mark(caller, params.id, query["to-status"]), urls),
    })),
    handle(listRepositoryNotifications, ({ caller, params, query, request }) =>
      list(caller, request, toWantedThreads(query, params)),
    ),
    handle(markRepositoryNotifications, ({ caller, params, query }) =>
      markAll(caller, toWantedMarks(query, params)),
    ),
  ];
}

/**
 * A list, or 304 for whom has it. By `If-Modified-Since` that costs one row: whether any thread changed. By
 * `If-None-Match`, which counts for more, the answer is made and compared, so that it also tells of a lost right.
 */
async function listUnlessKnown(
  { notifications, urls, clock }: NotificationRoutesDeps,
  caller: ForgeCaller,
  request: ServerRequest,
  wanted: WantedThreads,
) {
  const changedAt = toSeconds(await notifications.lastChange(caller));
  // What changes within a second that is not over would be missed by those who know of that second.
  const isOver = toSeconds(clock()) > changedAt;
  const headers = {
    "Last-Modified": new Date((isOver ? changedAt : changedAt - 1) * 1000).toUTCString(),
    Vary: "Authorization",
  };
  const { "if-none-match": knownTags, "if-modified-since": knownSince } = request.headers;
  if (
    knownTags === undefined &&
    knownSince !== undefined &&
    wanted.repository === undefined &&
    toSeconds(Date.parse(knownSince)) >= changedAt
  )
    return { status: 304, headers } as const;
  const { threads, total } = await notifications.list(caller, wanted);
  const body = threads.map((each) => toThreadView(each, urls));
  const tag = toTag(body, total);
  const tagged = { ...headers, ETag: tag };
  if (isKnown(knownTags, tag)) return { status: 304, headers: tagged } as const;
  return { status: 200, body, total, headers: tagged } as const;
}

/** Compared weakly, as `If-None-Match` is: whether a tag is called weak does not matter. */
function isKnown(knownTags: string | undefined, tag: string): boolean {
  const toOpaque = (each: string) => each.trim().replace(/^W\//, "");
  return (knownTags?.split(",") ?? []).some(
    (each) => each.trim() === "*" || toOpaque(each) === toOpaque(tag),
  );
}

function toTag(body: readonly WireThread[], total: number): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([total, body]))
    .digest("base64url");
  return `W/"${digest.slice(0, 27)}"`;
}

const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

function toWantedThreads(
  query: QueryOf<typeof listNotifications>,
  repository?: RepositoryPath,
): WantedThreads {
  return {
    ...(repository === undefined ? {} : { repository }),
    all: query.all,
    statuses: query["status-types"],
    kinds: query["subject-type"],
    since: query.since,
    before: query.before,
    page: query.page,
    limit: query.limit,
  };
}

function toWantedMarks(
  query: QueryOf<typeof markNotifications>,
  repository?: RepositoryPath,
): WantedMarks {
  return {
    ...(repository === undefined ? {} : { repository }),
    all: query.all,
    statuses: query["status-types"],
    lastReadAt: query.last_read_at,
    status: query["to-status"],
  };
}
