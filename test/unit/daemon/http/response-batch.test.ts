import { expect, test } from "vitest";
import { createResponseBatch } from "../../../../daemon/http/response-batch.ts";

test("sends the responses of one turn of the event loop together, after all its work", async () => {
  const joinBatch = createResponseBatch();
  const seen: string[] = [];
  const answer = async (name: string) => {
    seen.push(`worked on ${name}`);
    await joinBatch();
    seen.push(`sent ${name}`);
  };
  await Promise.all([answer("a"), Promise.resolve().then(() => answer("b"))]);
  expect(seen).toEqual(["worked on a", "worked on b", "sent a", "sent b"]);
});

test("puts a response that is ready during a flush into the next batch", async () => {
  const joinBatch = createResponseBatch();
  const first = joinBatch();
  await first;
  const second = joinBatch();
  expect(second).not.toBe(first);
  await second;
});
