import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { threadShape } from "../../../daemon/contract/forge/notifications.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { withOneDaemon } from "../../support/skip.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { newToken } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** With a token that may do no more than streams need. */
async function newUser(): Promise<{ readonly name: string; readonly token: string }> {
  const name = await people.newUser();
  return { name, token: await newToken(name, ["write:notification", "write:user"], "narrow") };
}

/** Creates a repository for a user, which creates a thread. */
const newThread = async (owner: string) => `${owner}/${await people.newRepository(owner)}`;

interface OpenStream extends Disposable {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** The `retry` field before the first event. */
  readonly retryMs: number | undefined;
  /** The next event; undefined when the stream has ended. */
  next(): Promise<EventSourceMessage | undefined>;
}

async function openStream(
  token: string,
  headers: Record<string, string> = {},
): Promise<OpenStream> {
  const request = http.get(`${daemon.url}/api/v1/notifications/stream`, {
    headers: { Authorization: `token ${token}`, ...headers },
    agent: false,
  });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  const events: EventSourceMessage[] = [];
  let retryMs: number | undefined;
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onRetry: (ms) => (retryMs = ms),
  });
  answer.setEncoding("utf8");
  const chunks = answer[Symbol.asyncIterator]();
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    get retryMs() {
      return retryMs;
    },
    async next() {
      while (events.length === 0) {
        const { value, done } = await chunks.next();
        if (done === true) return undefined;
        parser.feed(value as string);
      }
      return events.shift();
    },
    [Symbol.dispose]: () => void request.destroy(),
  };
}

const wordOf = (event: EventSourceMessage | undefined): unknown => {
  if (event === undefined) return "end";
  const data = JSON.parse(event.data) as never;
  if (event.event === "count") return (data as { new: number }).new;
  return threadShape.parse(data).subject?.title;
};

describe("the stream of threads", () => {
  test("a stream sends the unread count, then each thread as it changes", async () => {
    const { name, token } = await newUser();
    using stream = await openStream(token);
    expect(stream.status).toBe(200);
    expect(stream.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    expect(wordOf(await stream.next())).toBe(0);
    expect(stream.retryMs).toBe(2000);
    const title = await newThread(name);
    const event = await stream.next();
    expect(wordOf(event)).toBe(title);
    expect(event).toMatchObject({ event: "thread", id: expect.stringMatching(/^\d+$/) });
    expect(wordOf(await stream.next())).toBe(1);
  });

  test("a resumed stream misses no event, even after a restart of the daemon", async () => {
    const { name, token } = await newUser();
    const first = await openStream(token);
    const { id = "" } = (await first.next()) ?? {};
    first[Symbol.dispose]();
    const titles = [await newThread(name)];
    await daemon.stop();
    daemon = await startTestDaemon({ home: daemon.home, env: { CROFT_RATE_LIMITS: "off" } });
    titles.push(await newThread(name));
    using second = await openStream(token, { "Last-Event-ID": id });
    expect([wordOf(await second.next()), wordOf(await second.next())]).toEqual(titles);
    expect(wordOf(await second.next())).toBe(2);
  });

  test.each(["x", "-1", "1e3", "99999999999999999999", "1, 2", ""])(
    "a stream begins now for a foreign Last-Event-ID: %j",
    async (id) => {
      using stream = await openStream(people.admin, { "Last-Event-ID": id });
      expect(stream.status).toBe(200);
      expect((await stream.next())?.event).toBe("count");
    },
  );

  test("a stopping daemon ends event streams at once and accepts no new ones", async () => {
    await using other = await startTestDaemon({ env: { CROFT_SHUTDOWN_SECONDS: "60" } });
    const mine = daemon;
    daemon = other;
    try {
      using stream = await openStream(other.first?.forge.token ?? "");
      expect(wordOf(await stream.next())).toBe(0);
      const stopped = other.stop();
      expect(wordOf(await stream.next())).toBe("end");
      await stopped;
    } finally {
      daemon = mine;
    }
  });

  test("the stream ends when its token is deleted, without later events", async () => {
    const { name, token } = await newUser();
    using stream = await openStream(token);
    await stream.next();
    const path = `/api/v1/users/${name}/tokens/narrow`;
    const deleted = await daemon.request(path, {
      method: "DELETE",
      basic: `${name}:user-password`,
    });
    expect(deleted.status).toBe(204);
    await newThread(name);
    expect(wordOf(await stream.next())).toBe("end");
  });

  test("a stream requires the notification scope, and answers HEAD without a stream", async () => {
    const { name } = await newUser();
    const narrow = await openStream(await newToken(name, ["read:user"]));
    expect(narrow.status).toBe(403);
    const publicOnly = await newToken(name, ["public-only", "read:notification"]);
    expect((await openStream(publicOnly)).status).toBe(403);
    const wide = await newToken(name, ["read:notification"]);
    for (let round = 0; round < 20; round += 1) {
      const head = await daemon.request("/api/v1/notifications/stream", {
        method: "HEAD",
        token: wide,
      });
      expect([head.status, head.text]).toEqual([200, ""]);
    }
  });

  withOneDaemon(
    "a user has a limited number of streams, and a closed one releases its slot",
    async () => {
      const { token } = await newUser();
      const opened: OpenStream[] = [];
      for (let count = 0; count < 8; count += 1) opened.push(await openStream(token));
      expect(opened.map(({ status }) => status)).toEqual(opened.map(() => 200));
      const refused = await openStream(token);
      expect(refused.status).toBe(429);
      expect(refused.headers["retry-after"]).toBe("10");
      opened.pop()?.[Symbol.dispose]();
      await expect
        .poll(async () => {
          const again = await openStream(token);
          opened.push(again);
          return again.status;
        })
        .toBe(200);
      for (const stream of opened) stream[Symbol.dispose]();
    },
  );
});

test("a title with line breaks adds no event to the stream", async () => {
  const { name, token } = await newUser();
  const repository = await newThread(name);
  using stream = await openStream(token);
  await stream.next();
  const title = 'x\n\nevent: count\ndata: {"new":99}\n\n\r\r\u2028';
  const made = await daemon.request(`/api/v1/repos/${repository}/issues`, {
    token: people.admin,
    json: { title, assignees: [name] },
  });
  expect(made.status).toBe(201);
  expect(wordOf(await stream.next())).toBe(made.json.title);
  expect(wordOf(await stream.next())).toBe(2);
});
