import { once } from "node:events";
import http from "node:http";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { openRaw } from "../../../cli/client/raw-download.ts";
import { pattern } from "../../conformance/cloud-provider/acting.ts";

const calm = new AbortController().signal;

/** Serves one raw answer to each connection, after its request has arrived, and notes the requests. */
async function serving(answer: (socket: Socket) => void) {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.once("data", (head) => {
      requests.push(head.toString("latin1"));
      answer(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    requests,
    sockets,
    open: (headers: Readonly<Record<string, string>> = {}, signal = calm, idleMs = 60_000) =>
      openRaw({
        http,
        url: new URL(`http://127.0.0.1:${port}/some/file?x=1`),
        headers,
        signal,
        idleMs,
        toError: (error) => new Error("network", { cause: error }),
      }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

const head = (length: number | string, status = "200 OK", more = "") =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${length}\r\nETag: "v1"\r\n${more}\r\n`;

/** Collects copies of the parts: their memory is reused. */
function collect(parts: Buffer[], work: () => Promise<void> = async () => undefined) {
  return async (part: Uint8Array) => {
    const copy = Buffer.from(part);
    await work();
    // Nothing has written into the part while it was in use.
    expect(Buffer.compare(copy, part)).toBe(0);
    parts.push(copy);
  };
}

describe("a download into reused buffers", () => {
  for (const size of [0, 1, 1024 * 1024, 5 * 1024 * 1024 + 7])
    test(`passes ${size} bytes on in order, to a writer that is slower than the connection`, async () => {
      const bytes = pattern(size);
      await using server = await serving((socket) =>
        socket.end(Buffer.concat([Buffer.from(head(size)), bytes])),
      );
      const opened = await server.open({ Range: "bytes=0-" });
      expect([opened?.status, opened?.headers["etag"]]).toEqual([200, '"v1"']);
      const parts: Buffer[] = [];
      await opened?.raw.pipeTo(
        collect(parts, () => new Promise((resolve) => setImmediate(resolve))),
      );
      expect(Buffer.compare(Buffer.concat(parts), bytes)).toBe(0);
      expect(server.requests[0]).toMatch(
        /^GET \/some\/file\?x=1 HTTP\/1\.1\r\nHost: 127[^]*Range: bytes=0-\r\nConnection: close\r\n\r\n$/,
      );
    });

  test("reads a head that arrives byte by byte", async () => {
    await using server = await serving((socket) => {
      const text = `${head(3, "206 Partial Content", "Content-Range: bytes 2-4/5\r\n")}abc`;
      socket.setNoDelay(true);
      const next = (at: number) => {
        if (at < text.length) socket.write(text[at] ?? "", () => next(at + 1));
      };
      next(0);
    });
    const opened = await server.open();
    expect([opened?.status, opened?.headers["content-range"]]).toEqual([206, "bytes 2-4/5"]);
    const parts: Buffer[] = [];
    await opened?.raw.pipeTo(collect(parts));
    expect(Buffer.concat(parts).toString()).toBe("abc");
  });

  test("can be read as a stream", async () => {
    const bytes = pattern(3 * 1024 * 1024);
    await using server = await serving((socket) =>
      socket.end(Buffer.concat([Buffer.from(head(bytes.length)), bytes])),
    );
    const opened = await server.open();
    if (opened === undefined) throw new Error("not opened");
    expect(Buffer.compare(await buffer(opened.stream), bytes)).toBe(0);
  });

  test("gives a refusal with its body", async () => {
    await using server = await serving((socket) => socket.end(`${head(5, "404 Not Found")}there`));
    const opened = await server.open();
    if (opened === undefined) throw new Error("not opened");
    expect([opened.status, (await buffer(opened.stream)).toString()]).toEqual([404, "there"]);
  });

  test("leaves every other response to a complete client", async () => {
    for (const response of [
      head(0, "204 No Content"),
      head(5, "304 Not Modified"),
      head(5, "200 OK", "Transfer-Encoding: chunked\r\n"),
      head(5, "200 OK", "Content-Encoding: gzip\r\n"),
      head(5, "200 OK", "Content-Length: 5\r\n"),
      head(5, "200 OK", "X-Folded: a\r\n b\r\n"),
      head(5, "200 OK", "X Y: a\r\n"),
      head(-1),
      head("5, 5"),
      "HTTP/1.1 200 OK\r\n\r\n",
      "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n" + head(0),
      `${head(3)}abcd`,
      `HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(70_000)}\r\n`,
      "SSH-2.0-OpenSSH\r\n\r\n",
    ]) {
      await using server = await serving((socket) => socket.write(response, "latin1"));
      expect(await server.open(), response.slice(0, 60)).toBeUndefined();
    }
  });

  test("writes the received bytes before it reports a connection that closed early", async () => {
    await using server = await serving((socket) => {
      socket.write(head(10_000_000));
      socket.end(pattern(1_500_000));
    });
    const opened = await server.open();
    const parts: Buffer[] = [];
    await expect(opened?.raw.pipeTo(collect(parts))).rejects.toThrow("network");
    expect(Buffer.compare(Buffer.concat(parts), pattern(1_500_000))).toBe(0);
  });

  test("passes on the bytes of a slow connection without waiting for a full buffer", async () => {
    let goOn: (() => void) | undefined;
    const bytes = pattern(300_000);
    await using server = await serving((socket) => {
      socket.write(Buffer.concat([Buffer.from(head(bytes.length)), bytes.subarray(0, 1_000)]));
      let at = 1_000;
      goOn = () => {
        socket.write(bytes.subarray(at, at + 1_000));
        at += 1_000;
      };
    });
    const opened = await server.open();
    const parts: Buffer[] = [];
    // Each part is sent only when the one before has arrived.
    await opened?.raw.pipeTo(async (part) => {
      parts.push(Buffer.from(part));
      if (parts.length < 5) return goOn?.();
      for (let at = 5_000; at < bytes.length; at += 1_000) goOn?.();
    });
    expect(parts.length).toBeGreaterThan(5);
    expect(Buffer.compare(Buffer.concat(parts), bytes)).toBe(0);
  });

  test("rejects with the error of the writer and closes the connection", async () => {
    await using server = await serving((socket) => {
      socket.write(head(100_000_000));
      socket.write(pattern(5_000_000));
    });
    const opened = await server.open();
    const full = new Error("disk full");
    await expect(
      opened?.raw.pipeTo(async () => {
        throw full;
      }),
    ).rejects.toBe(full);
    const [socket] = server.sockets;
    await expect.poll(() => socket?.destroyed).toBe(true);
  });

  test("refuses a body that is longer than announced", async () => {
    await using server = await serving((socket) => {
      socket.write(head(100));
      setImmediate(() => socket.write(pattern(200)));
    });
    const opened = await server.open();
    // The rest may come with the head: then another client reads the response.
    if (opened === undefined) return;
    await expect(opened.raw.pipeTo(async () => undefined)).rejects.toThrow("network");
  });

  test("ends with the reason of an aborted signal, before and after the response began", async () => {
    await using server = await serving((socket) => socket.write(head(1_000)));
    const aborted = new AbortController();
    aborted.abort(new Error("stopped"));
    await expect(server.open({}, aborted.signal)).rejects.toThrow("stopped");
    const later = new AbortController();
    const opened = await server.open({}, later.signal);
    const reading = opened?.raw.pipeTo(async () => undefined);
    later.abort(new Error("stopped later"));
    await expect(reading).rejects.toThrow("stopped later");
  });

  test("a destroyed stream closes the connection", async () => {
    await using server = await serving((socket) => socket.write(head(1_000_000)));
    const opened = await server.open();
    const closed = once(server.sockets[0] as Socket, "close");
    opened?.stream.destroy();
    await closed;
  });

  test("refuses headers that would break out of the request", async () => {
    await using server = await serving((socket) => socket.write(head(0)));
    expect(() => server.open({ "If-Range": "a\r\nX: y" })).toThrow();
    expect(server.requests).toEqual([]);
  });
});
