import { createHash } from "node:crypto";
import type { WireThread } from "../../contract/forge/notifications.ts";
import type { ForgeUrls } from "../urls.ts";
import type { ChangedThreads } from "./notifications.service.ts";
import { toThreadView } from "./thread.view.ts";

/**
 * Returns a list of threads with its validators, or 304 for a client that knows the latest change.
 * @param now epoch milliseconds
 */
export function toThreadListAnswer(
  { changedAt, found }: ChangedThreads,
  urls: ForgeUrls,
  now: number,
) {
  const second = toSeconds(changedAt);
  // A client that has this second would miss a further change within it.
  const isOver = toSeconds(now) > second;
  const headers = {
    "Last-Modified": new Date((isOver ? second : second - 1) * 1000).toUTCString(),
    Vary: "Authorization",
  };
  if (found === undefined) return { status: 304, headers } as const;
  const { threads, total } = found;
  const body = threads.map((each) => toThreadView(each, urls));
  return { status: 200, body, total, headers, validators: { etag: toTag(body, total) } } as const;
}

/** The tag covers the content, so that it also changes when a right is lost. */
function toTag(body: readonly WireThread[], total: number): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([total, body]))
    .digest("base64url");
  return `W/"${digest.slice(0, 27)}"`;
}

const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
