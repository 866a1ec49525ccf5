import { z } from "zod";
import { resource } from "./resource.ts";
import { repository } from "../permission.ts";
import { empty, eventStream, forgeUser } from "../endpoint.ts";
import {
  fittingAnyText,
  paging,
  pathInteger,
  queryFlag,
  trimmedQueryText,
  wireId,
  wireTime,
} from "./common.ts";
import { repositoryParams, repositoryShape } from "./repositories/repositories.ts";

const threadStatusWords = ["unread", "read", "pinned"] as const;
const subjectWords = ["issue", "pull", "commit", "repository"] as const;

/** The subject of a thread. */
const subjectShape = z.object({
  title: z.string(),
  url: z.string(),
  latest_comment_url: z.string(),
  html_url: z.string(),
  latest_comment_html_url: z.string(),
  type: z.enum(["Issue", "Pull", "Commit", "Repository"]),
  state: z.string(),
});

/**
 * A thread; repository and subject are null for a caller who may not read the repository any more.
 */
export const threadShape = z.object({
  id: wireId,
  repository: repositoryShape.nullable(),
  subject: subjectShape.nullable(),
  unread: z.boolean(),
  pinned: z.boolean(),
  updated_at: wireTime,
  url: z.string(),
});
export type WireThread = z.output<typeof threadShape>;

/** Repeatable words of a closed list. Unknown words are dropped; a filter with unknown words only filters nothing. */
const queryWords = <W extends string>(words: readonly W[]) =>
  fittingAnyText(
    z.preprocess(
      (value: string | readonly string[] | undefined) => {
        if (value === undefined) return undefined;
        const values = typeof value === "string" ? [value] : value;
        const requested = values.map((word) => word.trim().toLowerCase());
        return words.filter((word) => requested.includes(word));
      },
      z.array(z.enum(words as readonly [W, ...W[]])).optional(),
    ),
  );

/** `unread`, `read` or `pinned`; anything else is `read`. */
const targetStatus = fittingAnyText(
  z.preprocess((value: string | readonly string[] | undefined) => {
    const first = typeof value === "object" ? value[0] : value;
    const word = (first ?? "").trim().toLowerCase();
    return threadStatusWords.find((status) => status === word) ?? "read";
  }, z.enum(threadStatusWords).default("read")),
);

const listQuery = z.object({
  all: queryFlag,
  "status-types": queryWords(threadStatusWords),
  "subject-type": queryWords(subjectWords),
  since: trimmedQueryText,
  before: trimmedQueryText,
  ...paging,
});

/** Gitea's clients may send it as a form, which is refused with 422 when it cannot be read. */
const markQuery = z.object({
  last_read_at: trimmedQueryText,
  all: queryFlag,
  "status-types": queryWords(threadStatusWords),
  "to-status": targetStatus,
});

/** The number of unread threads: the response of the count, and an event of the stream. */
const unreadCountShape = z.object({ new: z.int() });

/** Names of the stream's events; each carries JSON: a thread, or an unread count. */
export const streamEventWords = ["thread", "count"] as const;

const threadParams = z.object({ id: pathInteger });
const inRepository = "of one repository";

export const notificationEndpoints = {
  ...resource(
    {
      name: "forge.notifications",
      path: "/api/v1/notifications",
      gate: forgeUser("notification"),
    },
    ({ operation }) => ({
      listNotifications: operation({
        as: "list",
        method: "GET",
        summary: "Your notification threads, the last changed first",
        query: listQuery,
        paging: "link_and_total",
        replies: { 200: z.array(threadShape), 304: empty },
        refuses: [422],
      }),
      markNotifications: operation({
        as: "mark",
        method: "PUT",
        summary: "Mark your notification threads as read, unread or pinned",
        query: markQuery,
        paging: "total",
        replies: { 205: z.array(threadShape) },
        refuses: [400, 422],
      }),
      countNotifications: operation({
        as: "count",
        method: "GET",
        at: "new",
        summary: "How many of your notification threads are unread",
        replies: { 200: unreadCountShape },
      }),
      /**
       * Events: `thread` with a thread that has news, `count` with the unread count when the stream opens and after every
       * change by any client. A client that sends the last id as `Last-Event-ID` first gets the threads that have changed
       * since.
       */
      streamNotifications: operation({
        method: "GET",
        at: "stream",
        summary: "Your notification threads as server-sent events, as they come",
        replies: { 200: eventStream },
        refuses: [429, 503],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.notifications.threads",
      path: "/api/v1/notifications/threads/:id",
      params: threadParams,
      shape: threadShape,
      gate: forgeUser("notification"),
    },
    ({ get, operation }) => ({
      getNotification: get("A notification thread"),
      markNotification: operation({
        as: "mark",
        method: "PATCH",
        summary: "Mark a notification thread as read, unread or pinned",
        query: z.object({ "to-status": targetStatus }),
        replies: { 205: threadShape },
        refuses: [422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.notifications",
      path: "/api/v1/repos/:owner/:repo/notifications",
      params: repositoryParams,
      gate: forgeUser("notification"),
      on: repository("any", "read"),
      acceptsArchived: true,
    },
    ({ operation }) => ({
      listRepositoryNotifications: operation({
        as: "list",
        method: "GET",
        summary: `Your notification threads ${inRepository}, the last changed first`,
        query: listQuery,
        paging: "link_and_total",
        replies: { 200: z.array(threadShape), 304: empty },
        refuses: [422],
      }),
      markRepositoryNotifications: operation({
        as: "mark",
        method: "PUT",
        summary: `Mark your notification threads ${inRepository} as read, unread or pinned`,
        query: markQuery,
        paging: "total",
        replies: { 205: z.array(threadShape) },
        refuses: [400, 422],
      }),
    }),
  ),
};
