import { Readable } from "node:stream";
import { streamEventWords } from "../../contract/forge/notifications.ts";
import { assertNever } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { StreamUpdate, ThreadStream } from "./thread-streams.ts";
import { toThreadView } from "./thread.view.ts";

/** Delay of a client before it reconnects, in milliseconds. */
const RETRY_MS = 2_000;
const [THREAD, COUNT] = streamEventWords;

/** Sends a stream as server-sent events. Events are created on demand, so nothing is buffered for a slow client. */
export function toEventsAnswer(
  stream: ThreadStream,
  signal: AbortSignal,
  urls: ForgeUrls,
): BytesAnswer {
  return {
    status: 200,
    bytes: {
      size: undefined,
      contentType: "text/event-stream",
      etag: undefined,
      lastModified: undefined,
      open: async () => Readable.from(toEvents(stream.read(signal), urls), { objectMode: false }),
      release: () => stream.release(),
    },
    // Turns off response buffering in nginx and other proxies.
    headers: { "Cache-Control": "no-store", "X-Accel-Buffering": "no" },
  };
}

/** Returns the revision in `Last-Event-ID`; undefined when it is absent or not a number. */
export function toKnownRevision(
  header: string | readonly string[] | undefined,
): number | undefined {
  return typeof header === "string" && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

async function* toEvents(
  news: AsyncIterable<StreamUpdate>,
  urls: ForgeUrls,
): AsyncGenerator<string, void, void> {
  yield `retry: ${RETRY_MS}\n\n`;
  for await (const one of news) yield toEvent(one, urls);
}

function toEvent(news: StreamUpdate, urls: ForgeUrls): string {
  switch (news.kind) {
    case "thread":
      return toText(THREAD, news.revision, toThreadView(news.thread, urls));
    case "count":
      return toText(COUNT, news.revision, { new: news.unread });
    case "keep-alive":
      return ":\n\n";
    default:
      return assertNever(news);
  }
}

/** JSON contains no line breaks, so a title cannot end an event. */
function toText(event: string, id: number, data: object): string {
  return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}
