import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { toEventsAnswer } from "../../../../../daemon/forge/notifications/stream-events.ts";
import type { StreamUpdate } from "../../../../../daemon/forge/notifications/thread-streams.ts";

const urls = { publicUrl: () => "http://croft.example" };

test("a client that does not read causes no more than one buffer of events", async () => {
  let made = 0;
  let isReleased = false;
  async function* endless(): AsyncGenerator<StreamUpdate, void, void> {
    for (;;) {
      made += 1;
      yield { kind: "count", revision: made, unread: made };
    }
  }
  const stream = { read: endless, release: () => (isReleased = true) };
  const { bytes } = toEventsAnswer(stream, new AbortController().signal, urls);
  const readable = await bytes.open();
  // It takes a few events, and then no more.
  const taken: string[] = [];
  for await (const chunk of readable.iterator({ destroyOnReturn: false })) {
    taken.push(String(chunk));
    if (taken.length === 5) break;
  }
  expect(taken[0]).toBe("retry: 2000\n\n");
  for (let round = 0; round < 100; round += 1) await turn();
  expect(made).toBeLessThan(10);
  readable.destroy();
  bytes.release?.();
  expect(isReleased).toBe(true);
});
