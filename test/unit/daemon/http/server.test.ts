import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { listenAt } from "../../../../daemon/http/listen.ts";
import type { NodeHandler } from "../../../../daemon/http/server.ts";

const timeouts = { headers: 30_000, idle: 30_000, request: 30_000 };

/** Listens on a free port until `work` is done. */
async function listening<T>(handler: NodeHandler, work: (url: string) => Promise<T>): Promise<T> {
  const server = await listenAt(handler, { host: "127.0.0.1", port: 0, tls: undefined, timeouts });
  try {
    return await work(server.url);
  } finally {
    await server.stop(0);
  }
}

describe("attack: a request that ends before its answer", () => {
  test("a request that ends before its response does not end the daemon", async () => {
    const handler: NodeHandler = (message, response) => {
      if (message.method === "GET") {
        response.end("alive");
        return;
      }
      message.destroy();
      // Node says so even when nothing could be sent any more.
      response.emit("finish");
    };
    await listening(handler, async (url) => {
      await expect(fetch(url, { method: "POST", body: "x".repeat(100_000) })).rejects.toThrow();
      expect(await (await fetch(url)).text()).toBe("alive");
    });
  });
});

describe("attack: requests that are sent ahead on one connection", () => {
  const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const open = (url: string) => connect(Number(new URL(url).port), "127.0.0.1").setEncoding("utf8");

  test("thousands of requests in one write reach the handler in a bounded number", async () => {
    let handled = 0;
    const handler: NodeHandler = (_message, response) => {
      handled += 1;
      setImmediate(() => response.end("ok"));
    };
    await listening(handler, async (url) => {
      const socket = open(url);
      socket.on("error", () => undefined);
      const closed = new Promise((resolve) => socket.resume().once("close", resolve));
      socket.write(request.repeat(5_000));
      await closed;
      expect(handled).toBeLessThan(100);
      expect(await (await fetch(url)).text()).toBe("ok");
    });
  });

  test("a client that sends a few requests ahead gets all of its answers", async () => {
    const handler: NodeHandler = (_message, response) => {
      setImmediate(() => response.end("ok"));
    };
    await listening(handler, async (url) => {
      const socket = open(url);
      let answers = 0;
      // Eight are always in flight, 400 in all.
      socket.write(request.repeat(8));
      for await (const text of socket as AsyncIterable<string>) {
        const arrived = text.split("HTTP/1.1 200").length - 1;
        const left = 400 - 8 - answers;
        answers += arrived;
        if (left > 0) socket.write(request.repeat(Math.min(arrived, left)));
        if (answers === 400) break;
      }
      expect(answers).toBe(400);
    });
  });
});

describe("a connection without a byte", () => {
  /** Sends a raw request and returns the response until the connection closes. */
  async function speak(url: string, text: string): Promise<string> {
    const { port } = new URL(url);
    const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
    socket.write(text);
    return (await socket.toArray()).join("");
  }
  const impatient = { ...timeouts, idle: 500 };
  const head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\n";

  test("a connection without a byte is closed when the client owes something, and waits when we do", async () => {
    // The connection is silent for as long as the server waits, and then answers.
    const handler: NodeHandler = (message, response) => {
      message.resume().on("end", () => message.socket.once("timeout", () => response.end("late")));
    };
    const at = { host: "127.0.0.1", port: 0, tls: undefined, timeouts: impatient };
    const server = await listenAt(handler, at);
    try {
      const texts = [`${head}body`, `${head}bo`, "POST / HT"];
      const answers = await Promise.all(texts.map((text) => speak(server.url, text)));
      expect(answers).toEqual([expect.stringMatching(/late$/), "", ""]);
    } finally {
      await server.stop(0);
    }
  });
});

describe("stopping", () => {
  test("waits for a running answer, and cuts it off when the time is over", async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<() => void>();
    const handler: NodeHandler = (_message, response) => begin(() => response.end("done"));
    const server = await listenAt(handler, {
      host: "127.0.0.1",
      port: 0,
      tls: undefined,
      timeouts,
    });
    const answer = fetch(server.url).then((response) => response.text());
    const finish = await begun;
    // Longer than this test may take: the kept connection must not hold the server.
    const stopped = server.stop(600_000);
    await expect(fetch(server.url)).rejects.toThrow();
    finish();
    expect(await answer).toBe("done");
    await stopped;

    const { promise: hanging, resolve: hang } = Promise.withResolvers<void>();
    const other = await listenAt(() => hang(), {
      host: "127.0.0.1",
      port: 0,
      tls: undefined,
      timeouts,
    });
    const never = fetch(other.url);
    never.catch(() => undefined);
    await hanging;
    await other.stop(10);
    await expect(never).rejects.toThrow();
  });
});

test("a port that is taken is named, with the flag that chooses another one", async () => {
  await listening(
    () => undefined,
    async (url) => {
      const port = Number(new URL(url).port);
      const at = { host: "127.0.0.1", port, tls: undefined, timeouts };
      await expect(listenAt(() => undefined, at)).rejects.toMatchObject({
        message: `Port ${port} on 127.0.0.1 is taken by another program.`,
        hint: "--port takes another port, 0 a free one",
      });
      const secure = { ...at, portFlag: "--tls-port" } as const;
      await expect(listenAt(() => undefined, secure)).rejects.toMatchObject({
        hint: "--tls-port takes another port, 0 a free one",
      });
    },
  );
});
