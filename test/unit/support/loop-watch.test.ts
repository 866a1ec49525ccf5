import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { watchLoop } from "../../support/loop-watch.ts";

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
function burn(ms: number): void {
  const end = cpuMs() + ms;
  while (cpuMs() < end);
}

test("a request that holds the event loop is named, wherever it does so; what others do does not count", async () => {
  const watch = watchLoop();
  watch.take();
  const works: Readonly<Record<string, () => Promise<void>>> = {
    "/at-once": async () => burn(400),
    "/later": async () => {
      await sleep(1);
      await Promise.resolve();
      burn(300);
    },
    "/in-pieces": async () => {
      for (let piece = 0; piece < 12; piece++) {
        burn(25);
        await sleep(1);
      }
    },
    // Processor time of another thread or process, or none at all.
    "/idle": () => sleep(200),
    // Loads a module, as the first request of a route may.
    "/loads": async () => {
      burn(300);
      createRequire(import.meta.url)("yauzl");
    },
    "/api/orders/1": async () => burn(250),
    "/folder/1": async () => burn(500),
  };
  const server = createServer((request, response) => {
    void works[(request.url ?? "").replace(/\?.*/, "")]?.().then(() =>
      response.setHeader("Connection", "close").end(),
    );
  });
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const visit = async (path: string) => {
    await (await fetch(`http://127.0.0.1:${port}${path}?of=me`)).text();
    return watch.take().map(({ request }) => request);
  };
  // The test itself.
  burn(300);
  expect(await visit("/at-once")).toEqual(["GET /at-once"]);
  expect(await visit("/later")).toEqual(["GET /later"]);
  expect(await visit("/in-pieces")).toEqual([]);
  expect(await visit("/idle")).toEqual([]);
  expect(await visit("/loads")).toEqual([]);
  expect(await visit("/api/orders/1")).toEqual(["GET /api/orders/0"]);
  expect(await visit("/folder/1")).toEqual(["GET /folder/0"]);
});
