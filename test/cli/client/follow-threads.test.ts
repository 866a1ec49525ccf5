import { describe, expect, test } from "vitest";
import {
  type FollowOptions,
  followThreads,
  type ThreadNews,
} from "../../../cli/client/follow-threads.ts";
import { createContext } from "../../../cli/context.ts";
import { neverStopping } from "../../../cli/report.ts";
import { fakeDaemon, type FakeAnswer } from "../support/fake-daemon.ts";
import { fakeSystem, temporaryHome } from "../support/run-cli.ts";

const headers = { "Content-Type": "text/event-stream" };
const events = (...lines: readonly string[]): FakeAnswer => ({
  body: Buffer.from(lines.map((line) => `${line}\n`).join("")),
  headers,
});
const count = (id: number, unread: number) => `event: count\nid: ${id}\ndata: {"new":${unread}}\n`;
const thread = (revision: number, id: number) =>
  `event: thread\nid: ${revision}\ndata: {"id":${id}}\n`;
const refused: FakeAnswer = { status: 401, body: { message: "token is required" } };

/** Follows until it fails, and returns the received threads, the number of connections, and the failure. */
async function follow(answers: readonly FakeAnswer[], options: FollowOptions = {}) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ "GET /api/v1/notifications/stream": answers });
  const env = { CROFT_FORGE_TOKEN: "t", CROFT_URL: daemon.url };
  const system = fakeSystem({ home: home.path, env, hurried: true });
  const news: ThreadNews[] = [];
  const connections: boolean[] = [];
  const onConnection = (isOpen: boolean) => connections.push(isOpen);
  let failure: unknown;
  try {
    const cli = createContext(system, neverStopping);
    for await (const one of followThreads(cli, { onConnection, ...options })) news.push(one);
  } catch (error) {
    failure = error;
  }
  const known = daemon.requests.map((each) => each.headers["last-event-id"]);
  const accepts = daemon.requests.map((each) => each.headers.accept);
  return { news, connections, failure, known, accepts };
}

describe("following threads", () => {
  test("following threads reconnects and continues from the last event", async () => {
    const followed = await follow([
      events("retry: 1\n", count(4, 0), ":\n", thread(5, 70), count(5, 1)),
      { ...events(thread(6, 71)), cut: true },
      { status: 503, body: { message: "stopping" } },
      events(count(6, 2)),
      refused,
    ]);
    expect(followed.news).toEqual([
      { kind: "count", unread: 0 },
      { kind: "thread", thread: { id: 70 } },
      { kind: "count", unread: 1 },
      { kind: "thread", thread: { id: 71 } },
      { kind: "count", unread: 2 },
    ]);
    expect(followed.known).toEqual([undefined, "5", "6", "6", "6"]);
    expect(new Set(followed.accepts)).toEqual(new Set(["text/event-stream"]));
    expect(followed.connections).toEqual([true, false, true, false, true, false]);
    expect(followed.failure).toMatchObject({ code: "invalid_credentials" });
  });

  test("fails when the first connection does", async () => {
    const busy = await follow([{ status: 503, body: { message: "no room" } }]);
    expect(busy.failure).toMatchObject({ code: "server_error" });
    const old = await follow([{ status: 404, body: { message: "no such route" } }]);
    expect(old.failure).toMatchObject({ code: "not_found" });
  });

  test("leaves events alone that it does not know", async () => {
    const { news } = await follow([
      events("event: other\nid: 9\ndata: x\n", "data: y\n", count(10, 1)),
      refused,
    ]);
    expect(news).toEqual([{ kind: "count", unread: 1 }]);
  });

  test("refuses data that is not an event, and an endless event", async () => {
    for (const text of ["event: thread\nid: 1\ndata: {]\n", `data: ${"x".repeat(2 ** 20 + 1)}`]) {
      const { failure } = await follow([events(text)]);
      expect(failure).toMatchObject({ code: "unexpected_answer" });
    }
  });

  test("ends quietly with its signal", async () => {
    const controller = new AbortController();
    const followed = await follow([events(count(1, 0))], {
      signal: controller.signal,
      onConnection: (isOpen) => {
        if (!isOpen) controller.abort();
      },
    });
    expect(followed.news).toEqual([{ kind: "count", unread: 0 }]);
    expect(followed.failure).toBeUndefined();
  });
});
