import { createServer } from "node:http";
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
    "/at-once": async () => burn(600),
    "/later": async () => {
      await sleep(1);
      await Promise.resolve();
      burn(600);
    },
    "/in-pieces": async () => {
      for (let piece = 0; piece < 12; piece++) {
        burn(50);
        await sleep(1);
      }
    },
    // Processor time of another thread or process, or none at all.
    "/idle": () => sleep(200),
    "/first/1": async () => burn(150),
    "/first/2": async () => burn(150),
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
  burn(600);
  expect(await visit("/at-once")).toEqual(["GET /at-once"]);
  expect(await visit("/later")).toEqual(["GET /later"]);
  expect(await visit("/in-pieces")).toEqual([]);
  expect(await visit("/idle")).toEqual([]);
  expect(await visit("/first/1")).toEqual([]);
  expect(await visit("/first/2")).toEqual(["GET /first/0"]);
});
