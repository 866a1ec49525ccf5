import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { Agent } from "undici";
import { afterAll, describe, expect, test } from "vitest";
import { toExactBytes, untilConfirmed } from "../../../../storage/cloud/exact-bytes.ts";
import { readJsonObject } from "../../../../storage/cloud/response-json.ts";
import { StreamAborted } from "../../../../storage/cloud/outcomes.ts";
import type { ByteRange } from "../../../../storage/cloud/provider.ts";
import { createTransport } from "../../../../storage/cloud/transport.ts";
import { calm, pattern } from "../../../conformance/cloud-provider/acting.ts";
import { serve } from "../../../stand-ins/serve.ts";

const agent = new Agent();
afterAll(() => agent.destroy());

/** Returns the outcome of a server's response. */
async function answerOf(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = await serve(async (request, response) => handle(request, response));
  const answer = await createTransport(agent).send({
    method: "GET",
    url: server.origin,
    signal: calm,
  });
  if (answer.kind !== "answered") throw new Error(answer.note);
  return { answer, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function readExactly(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  range?: ByteRange,
  size?: number,
) {
  await using server = await answerOf(handle);
  const exact = toExactBytes(server.answer, range, size);
  if (exact.kind !== "ok") return exact.kind;
  const bytes = await buffer(exact.stream);
  if (exact.length !== undefined) expect(bytes.length).toBe(exact.length);
  return bytes;
}

const bytes = pattern(100_000);

describe("a range", () => {
  test.each([
    ["gzip", gzipSync(bytes)],
    ["x-gzip", gzipSync(bytes)],
    ["deflate", deflateSync(bytes)],
    ["br", brotliCompressSync(bytes)],
  ])("the exact bytes are read from a response with the encoding %s", async (encoding, encoded) => {
    const handle = (_: unknown, response: ServerResponse) =>
      void response.writeHead(200, { "content-encoding": encoding }).end(encoded);
    expect(await readExactly(handle, undefined, bytes.length)).toEqual(bytes);
    expect(await readExactly(handle, undefined, undefined)).toEqual(bytes);
    expect(await readExactly(handle, { start: 5, end: 9 }, bytes.length)).toEqual(
      bytes.subarray(5, 10),
    );
    expect(await readExactly(handle, { start: 99_990 }, bytes.length)).toEqual(
      bytes.subarray(99_990),
    );
  });

  test("a range of a server that ignores ranges", async () => {
    const handle = (_: unknown, response: ServerResponse) => void response.end(bytes);
    expect(await readExactly(handle, { start: 10, end: 19 })).toEqual(bytes.subarray(10, 20));
    expect(await readExactly(handle, { start: 10 })).toEqual(bytes.subarray(10));
    expect(await readExactly(handle, { start: 100_000 }, 100_000)).toBe("range_not_satisfiable");
  });

  test("rejects a file that is longer than its metadata state, in every form of response", async () => {
    for (const encoding of ["identity", "gzip"]) {
      const handle = (_: unknown, response: ServerResponse) => {
        response.writeHead(200, { "content-encoding": encoding });
        // In chunks, of which the first is as long as the file should be.
        if (encoding === "gzip") response.end(gzipSync(bytes));
        else response.write(bytes.subarray(0, 50_000), () => response.end(bytes.subarray(50_000)));
      };
      for (const range of [undefined, { start: 0 }, { start: 49_999, end: 49_999 }]) {
        await using server = await answerOf(handle);
        const exact = toExactBytes(server.answer, range, 50_000);
        if (exact.kind !== "ok") throw new Error(exact.kind);
        const got: Buffer[] = [];
        const reading = (async () => {
          for await (const chunk of exact.stream) got.push(chunk as Buffer);
        })();
        await expect(reading).rejects.toThrow(StreamAborted);
        expect(Buffer.concat(got).length).toBeLessThan(exact.length ?? 0);
      }
    }
  });

  test("a range is refused when the response has no end", async () => {
    const handle = (_: unknown, response: ServerResponse) =>
      void response.writeHead(206, { "content-range": `bytes 0-${"9".repeat(400)}/*` }).end(bytes);
    expect(await readExactly(handle)).toBe("ask_for_whole");
  });

  test("a range of a server that gives more than the range, or less", async () => {
    const partial = (from: number, to: number) => (_: unknown, response: ServerResponse) =>
      void response
        .writeHead(206, { "content-range": `bytes ${from}-${to}/${bytes.length}` })
        .end(bytes.subarray(from, to + 1));
    expect(await readExactly(partial(0, 99_999), { start: 0, end: 0 })).toEqual(
      bytes.subarray(0, 1),
    );
    expect(await readExactly(partial(5, 70_000), { start: 5, end: 40_000 })).toEqual(
      bytes.subarray(5, 40_001),
    );
    expect(await readExactly(partial(5, 99_999), { start: 5, end: 200_000 })).toEqual(
      bytes.subarray(5),
    );
    expect(await readExactly(partial(5, 80), { start: 5, end: 90 })).toBe("ask_for_whole");
    expect(await readExactly(partial(5, 80), { start: 5 })).toBe("ask_for_whole");
  });

  test("a part of something else is not taken for the range", async () => {
    for (const headers of [
      { "content-range": "bytes 11-20/100" },
      { "content-range": "bytes 10-19/100", "content-encoding": "gzip" },
      {},
    ])
      expect(
        await readExactly(
          (_, response) => void response.writeHead(206, headers).end("0123456789"),
          { start: 10, end: 19 },
        ),
      ).toBe("ask_for_whole");
  });

  test.each([
    ["unknown encoding", "zebra", Buffer.from("x")],
    ["rubbish", "gzip", Buffer.from("this is not gzip")],
    ["half of it", "gzip", gzipSync(bytes).subarray(0, 5000)],
    ["less than there should be", "gzip", gzipSync(bytes.subarray(0, 500))],
  ])("%s fails the stream", async (_title, encoding, encoded) => {
    const reading = readExactly(
      (_, response) => void response.writeHead(200, { "content-encoding": encoding }).end(encoded),
      undefined,
      bytes.length,
    );
    await expect(reading).rejects.toBeInstanceOf(StreamAborted);
  });

  test("the end waits for a version check, and fails if the version has changed", async () => {
    const open = async (failure: { kind: "changed" } | undefined) => {
      await using server = await answerOf((_, response) => void response.end(bytes));
      const exact = toExactBytes(server.answer, undefined, undefined);
      if (exact.kind !== "ok") throw new Error(exact.kind);
      return await buffer(untilConfirmed(exact.stream, async () => failure));
    };
    expect(await open(undefined)).toEqual(bytes);
    await expect(open({ kind: "changed" })).rejects.toMatchObject({ failure: { kind: "changed" } });
  });
});

describe("JSON of an answer", () => {
  test.each([
    ["an object", "{}", {}],
    ["a page", "<html>", "offline"],
    ["cut", '{"a":', "offline"],
    ["a list", "[]", "offline"],
    ["null", "null", "offline"],
    ["nothing", "", "offline"],
  ])("parses the JSON of a response: %s", async (_title, text, expected) => {
    for (const encoding of ["identity", "gzip"]) {
      await using server = await answerOf((_, response) => {
        const body = encoding === "gzip" ? gzipSync(text) : text;
        response.writeHead(200, { "content-encoding": encoding }).end(body);
      });
      const read = await readJsonObject(server.answer);
      expect(read.kind === "ok" ? read.value : read.kind).toEqual(expected);
    }
  });

  test("too much of it is offline, packed or not", async () => {
    for (const [encoding, body] of [
      ["identity", `{"a":"${"x".repeat(3000)}"}`],
      ["gzip", gzipSync(`{"a":"${"x".repeat(3_000_000)}"}`)],
    ] as const) {
      await using server = await answerOf(
        (_, response) => void response.writeHead(200, { "content-encoding": encoding }).end(body),
      );
      expect(await readJsonObject(server.answer, 2000)).toMatchObject({ note: "answer_too_long" });
    }
  });
});
