import type { Readable } from "node:stream";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { forge } from "./operations.ts";
import type { WireThread } from "../../daemon/contract/forge/notifications.ts";
import type { CliContext } from "../context.ts";
import { CliError, toCliError } from "../errors.ts";
import { parseObject } from "../support/json.ts";

/** One event of the notification stream. */
export type ThreadNews =
  /** A thread is new or was updated. */
  | { readonly kind: "thread"; readonly thread: WireThread }
  /** The number of unread threads: sent when a connection opens and after every change. */
  | { readonly kind: "count"; readonly unread: number };

export interface FollowOptions {
  /** Ends the iteration quietly. */
  readonly signal?: AbortSignal;
  /** Called when a connection opens and when it is lost; not when the iteration ends. */
  readonly onConnection?: (isOpen: boolean) => void;
}

const firstWaitMs = 1_000;
const longestWaitMs = 30_000;
/** Characters of one event. A thread has a few thousand. */
const eventCharactersMax = 1024 * 1024;

/**
 * Yields the events of the caller's threads from now on, until the caller stops. Reconnects with exponential backoff
 * and receives the events that were published in between. Leaving the loop ends it.
 * @throws CliError when the first connection fails, or when a later one is refused permanently, such as
 * `invalid_credentials`; the reason of the signal when a stop signal aborts it
 */
export async function* followThreads(
  cli: Pick<CliContext, "client" | "system" | "signal">,
  { signal: own, onConnection }: FollowOptions = {},
): AsyncGenerator<ThreadNews, void, void> {
  const signal = own === undefined ? cli.signal : AbortSignal.any([cli.signal, own]);
  const isEnded = () => own?.aborted === true && !cli.signal.aborted;
  let lastEventId: string | undefined;
  let wasOpen = false;
  let failures = 0;
  while (!isEnded()) {
    let stream: Readable | undefined;
    let askedMs = 0;
    try {
      const headers = {
        Accept: "text/event-stream",
        ...(lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId }),
      };
      ({ stream } = await cli.client.download(forge.streamNotifications, {}, { headers, signal }));
      wasOpen = true;
      onConnection?.(true);
      for await (const { event, id, data } of readEvents(stream)) {
        failures = 0;
        lastEventId = id ?? lastEventId;
        const news = toNews(event, data);
        if (news !== undefined) yield news;
      }
    } catch (error) {
      if (isEnded()) return;
      if (cli.signal.aborted) throw error;
      const failure = toCliError(error);
      if (!isPassing(failure) || !wasOpen) throw failure;
      askedMs = (failure.details.retryAfterSeconds ?? 0) * 1000;
    } finally {
      stream?.destroy();
      if (stream !== undefined && !signal.aborted) onConnection?.(false);
    }
    failures += 1;
    const patienceMs = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures - 1, 10));
    await cli.system.sleep(Math.max(askedMs, patienceMs), signal).catch((error: unknown) => {
      if (!isEnded()) throw error;
    });
  }
}

/** Whether a retry may succeed: the daemon restarts or is overloaded. */
function isPassing({ code, details }: CliError): boolean {
  return (
    code === "daemon_unreachable" ||
    code === "rate_limited" ||
    (details.httpStatus !== undefined && details.httpStatus >= 500)
  );
}

async function* readEvents(stream: Readable): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") throw notAnEvent(error);
    },
    maxBufferSize: eventCharactersMax,
  });
  stream.setEncoding("utf8");
  for await (const chunk of stream) {
    parser.feed(chunk as string);
    yield* events.splice(0);
  }
}

function toNews(event: string | undefined, data: string): ThreadNews | undefined {
  if (event !== "thread" && event !== "count") return undefined;
  const value = parseObject(data);
  if (event === "count" && typeof value?.["new"] === "number")
    return { kind: "count", unread: value["new"] };
  if (event === "thread" && isThread(value)) return { kind: "thread", thread: value };
  throw notAnEvent();
}

/** Only the id is checked: the client trusts the daemon to send the other members as the contract declares them. */
function isThread(value: object | undefined): value is WireThread {
  return value !== undefined && "id" in value && typeof value.id === "number";
}

const notAnEvent = (cause?: unknown): CliError =>
  new CliError("unexpected_answer", "the daemon sent an invalid event", { cause });
