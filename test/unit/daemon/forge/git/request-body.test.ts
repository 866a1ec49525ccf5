import { once } from "node:events";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { pipeBody } from "../../../../../daemon/forge/git/request-body.ts";

const newChild = () => ({
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  hookSocket: undefined,
  ended: new Promise<never>(() => undefined),
  stop: () => undefined,
});

test("git receives no byte before the beginning of the body is admitted, then all of it", async () => {
  const body = new PassThrough();
  const child = newChild();
  const admission = Promise.withResolvers<void>();
  let length = 0;
  pipeBody({ body, contentEncoding: undefined }, child, {
    bytesMax: 100,
    admit(chunk) {
      length += chunk.byteLength;
      return length >= 4 ? admission.promise : undefined;
    },
  });
  body.write("ab");
  body.end("cdef");
  while (length < 6) await new Promise(setImmediate);
  expect(child.stdin.readableLength).toBe(0);
  admission.resolve();
  expect((await buffer(child.stdin)).toString()).toBe("abcdef");
});

test.each(["refused", "incomplete"])(
  "git is stopped without a byte when the beginning of the body is %s",
  async (how) => {
    const body = new PassThrough();
    const stopped = Promise.withResolvers<void>();
    const child = { ...newChild(), stop: () => stopped.resolve() };
    const isWhole = pipeBody({ body, contentEncoding: undefined }, child, {
      bytesMax: 100,
      admit: () => (how === "refused" ? Promise.reject(new Error("refused")) : undefined),
    });
    body.end("abc");
    await stopped.promise;
    expect([child.stdin.readableLength, isWhole()]).toEqual([0, false]);
  },
);

test.each([undefined, "gzip"])(
  "a body (%s) that was aborted before git started stops git, which would wait for the rest",
  async (contentEncoding) => {
    const body = new PassThrough();
    body.destroy();
    await once(body, "close");
    let stops = 0;
    const child = { ...newChild(), stop: () => (stops += 1) };
    const isWhole = pipeBody({ body, contentEncoding }, child, { bytesMax: 10 });
    expect([stops, isWhole()]).toEqual([1, false]);
  },
);
