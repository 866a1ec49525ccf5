import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import {
  limitConnections,
  limitPipelining,
  sliceReads,
} from "../../../../daemon/http/connection-limit.ts";
import type { NodeHandler } from "../../../../daemon/http/server.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Starts a server with the limits of a connection, and returns a new connection to it. */
async function connectTo(handler: NodeHandler, onParsed: () => void = () => {}): Promise<Socket> {
  const responses = new WeakMap<Socket, ServerResponse>();
  const limited = limitPipelining(
    (message, response) => {
      responses.set(message.socket, response);
      handler(message, response);
    },
    (socket) => responses.get(socket),
  );
  const server = createServer((message, response) => {
    onParsed();
    limited(message, response);
  });
  sliceReads(server);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return connect((server.address() as AddressInfo).port, "127.0.0.1");
}

/** Resolves with the number of bytes that the peer sends before it closes the connection. */
async function countUntilClose(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.byteLength;
  });
  await new Promise<void>((resolve) => {
    // The peer may reset the connection: the rest of the flood is unread.
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
  return bytes;
}

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

test("beyond half of the connections none is kept open after its response", async () => {
  const limited = limitConnections((_message, response) => response.end("ok"), 4);
  const server = createServer(limited.handler);
  limited.watch(server);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const heads: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write(GET);
    const [chunk] = (await once(socket, "data")) as [Buffer];
    heads.push(/^connection: .*$/im.exec(chunk.toString("latin1"))?.[0].toLowerCase() ?? "");
  }
  expect(heads).toEqual(["connection: keep-alive", "connection: keep-alive", "connection: close"]);
});

describe("limits of a connection", () => {
  test("parses no more than a slice of a flood of requests after the connection is closed", async () => {
    let parsed = 0;
    let handled = 0;
    const socket = await connectTo(
      () => {
        handled += 1;
      },
      () => {
        parsed += 1;
      },
    );
    socket.write(GET.repeat(20_000));
    await countUntilClose(socket);
    expect(handled).toBe(33);
    // One read of 64 KiB brings 2,427 of them.
    expect(parsed).toBeLessThan(33 + 1_024 / GET.length + 1);
  });

  test("closes a connection whose client pipelines requests for large responses and reads none", async () => {
    const body = "x".repeat(1024 * 1024);
    let closed: Promise<unknown> | undefined;
    const socket = await connectTo((message, response) => {
      closed ??= once(message.socket, "close");
      setImmediate(() => response.end(body));
    });
    socket.on("error", () => {});
    socket.pause();
    socket.write(GET.repeat(20));
    await expect.poll(() => closed).toBeDefined();
    await closed;
    socket.destroy();
  });

  test("answers every pipelined request of a client that reads late", async () => {
    const body = "x".repeat(256 * 1024);
    const headers = "X-Padding: a\r\n".repeat(20);
    const socket = await connectTo((_message, response) => response.end(body));
    const last = `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`;
    socket.pause();
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${headers}\r\n`.repeat(29) + last);
    await new Promise((resolve) => socket.once("readable", resolve));
    const bytes = await countUntilClose(socket);
    expect(bytes).toBeGreaterThan(30 * body.length);
  });

  test("passes a body of many blank lines on unchanged", async () => {
    const received: Buffer[] = [];
    const socket = await connectTo((message, response) => {
      message.on("data", (chunk: Buffer) => received.push(chunk));
      message.on("end", () => response.end());
    });
    const body = Array.from({ length: 40_000 }, (_, line) => `${line}\r\n\r\n`).join("");
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await countUntilClose(socket);
    expect(Buffer.concat(received).toString()).toBe(body);
  });
});
