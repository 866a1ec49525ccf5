import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, test } from "vitest";
import { createReadScheduler } from "../../../../../../daemon/forge/git/ssh/read-scheduler.ts";

/** Opens `count` connections and returns both ends of each; the server's ends are paused. */
async function connect(count: number) {
  const accepted: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => accepted.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clients: Socket[] = [];
  for (let index = 0; index < count; index += 1) {
    const client = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    client.on("error", () => undefined);
    await once(client, "connect");
    clients.push(client);
  }
  await expect.poll(() => accepted.length).toBe(count);
  return {
    accepted,
    clients,
    [Symbol.asyncDispose]: async () => {
      for (const socket of [...clients, ...accepted]) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

test("reads one chunk of one socket in each iteration of the event loop, round-robin", async () => {
  await using pairs = await connect(3);
  const join = createReadScheduler(1024);
  let iteration = 0;
  let isWatching = true;
  const watch = () => {
    iteration += 1;
    if (isWatching) setImmediate(watch);
  };
  setImmediate(watch);
  const read: { readonly socket: number; readonly iteration: number }[] = [];
  const bytes = [0, 0, 0];
  pairs.accepted.forEach((socket, index) => {
    join(socket);
    socket.on("data", (chunk: Buffer) => {
      read.push({ socket: index, iteration });
      bytes[index] = (bytes[index] ?? 0) + chunk.byteLength;
    });
  });
  const total = 4 * 1024 * 1024;
  for (const client of pairs.clients) client.write(Buffer.alloc(total));
  for (const socket of pairs.accepted) socket.resume();
  await expect.poll(() => bytes).toEqual([total, total, total]);
  isWatching = false;
  // The first chunks come when the readers begin.
  const later = read.slice(3);
  expect(new Set(later.map((each) => each.iteration)).size).toBe(later.length);
  expect(new Set(later.slice(0, 9).map((each) => each.socket))).toEqual(new Set([0, 1, 2]));
});

test("does not read a socket whose client leaves more than the limit unread", async () => {
  await using pairs = await connect(1);
  const [socket] = pairs.accepted;
  const [client] = pairs.clients;
  if (socket === undefined || client === undefined) throw new Error("no connection");
  createReadScheduler(64 * 1024)(socket);
  // Answers with ten times as much as it reads.
  let read = 0;
  socket.on("data", (chunk: Buffer) => {
    read += chunk.byteLength;
    socket.write(Buffer.alloc(10 * chunk.byteLength));
  });
  socket.resume();
  client.pause();
  const total = 16 * 1024 * 1024;
  client.write(Buffer.alloc(total));
  await expect.poll(() => socket.writableLength).toBeGreaterThan(64 * 1024);
  const before = read;
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  expect(read).toBe(before);
  expect(read).toBeLessThan(total);
  client.resume();
  await expect.poll(() => read, { timeout: 60_000 }).toBe(total);
});

test("forgets a socket that is closed while it waits", async () => {
  await using pairs = await connect(2);
  const join = createReadScheduler(1024);
  const read: number[] = [];
  pairs.accepted.forEach((socket, index) => {
    join(socket);
    socket.on("data", () => read.push(index));
    socket.resume();
  });
  pairs.clients[0]?.write("a");
  await expect.poll(() => read).toEqual([0]);
  pairs.accepted[0]?.destroy();
  pairs.clients[1]?.write("b");
  await expect.poll(() => read).toEqual([0, 1]);
  pairs.clients[1]?.write("c");
  await expect.poll(() => read).toEqual([0, 1, 1]);
});
