import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { startInSlices } from "../../../../daemon/http/request-slices.ts";

interface Sent {
  readonly url: string;
  readonly socket: { destroyed: boolean };
}

/** A handler whose requests each take two milliseconds, and the requests that it has started. */
function createHandler() {
  let at = 0;
  const started: string[] = [];
  const start = startInSlices(
    (message) => {
      started.push(message.url ?? "");
      at += 2;
    },
    () => at,
  );
  const send = (name: string): Sent => {
    const message = { url: name, socket: { destroyed: false } };
    start(message as IncomingMessage, {} as ServerResponse);
    return message;
  };
  return { started, send };
}

test("requests that arrive together are started in several turns of the event loop, in their order", async () => {
  const { started, send } = createHandler();
  for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) send(name);
  expect(started).toEqual(["a", "b", "c"]);
  await turn();
  const afterOneTurn = started.length;
  expect(afterOneTurn).toBeLessThanOrEqual(6);
  // A later request does not overtake those that wait.
  send("i");
  expect(started).toHaveLength(afterOneTurn);
  while (started.length < 9) await turn();
  expect(started).toEqual(["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
});

test("a request is started at once when no other one waits", async () => {
  const { started, send } = createHandler();
  for (const name of ["a", "b", "c", "d"]) {
    send(name);
    expect(started.at(-1)).toBe(name);
    await turn();
  }
});

test("a request whose client has left is not started, and holds up no other one", async () => {
  const { started, send } = createHandler();
  const sent = ["a", "b", "c", "d", "e"].map(send);
  for (const { socket } of sent.slice(3)) socket.destroyed = true;
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(started).toEqual(["a", "b", "c"]);
  send("f");
  expect(started).toEqual(["a", "b", "c", "f"]);
});
