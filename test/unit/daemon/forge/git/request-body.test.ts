import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { pipeBody } from "../../../../../daemon/forge/git/request-body.ts";

test.each([undefined, "gzip"])(
  "a body (%s) that was aborted before git started stops git, which would wait for the rest",
  async (contentEncoding) => {
    const body = new PassThrough();
    body.destroy();
    await once(body, "close");
    let stops = 0;
    const child = {
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      ended: new Promise<never>(() => undefined),
      stop: () => (stops += 1),
    };
    const isWhole = pipeBody({ body, contentEncoding }, child, { bytesMax: 10 });
    expect([stops, isWhole()]).toEqual([1, false]);
  },
);
