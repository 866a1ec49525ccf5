import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import {
  type AddressPolicy,
  createAddressCheck,
} from "../../../../daemon/outbound/address-policy.ts";
import {
  createGuardedDispatcher,
  createGuardedRequest,
  type OutboundRequest,
  type Resolve,
} from "../../../../daemon/outbound/guarded-request.ts";
import { startReceiver } from "../../../support/receiver.ts";

function guarded(options: { policy?: AddressPolicy; resolve?: Resolve; ownPort?: number } = {}) {
  const check = createAddressCheck({
    policy: options.policy ?? "home",
    own: () => [{ address: "127.0.0.1", port: options.ownPort ?? 1 }],
    machine: () => [],
  });
  const { resolve } = options;
  const dispatcher = createGuardedDispatcher(
    resolve === undefined ? { check } : { check, resolve },
  );
  const request = createGuardedRequest(dispatcher);
  return {
    post: (url: string, changes: Partial<OutboundRequest> = {}) =>
      request({
        url,
        method: "POST",
        headers: { "Content-Type": "text/plain", Authorization: "secret", "X-Kept": "yes" },
        body: "hello",
        privateHeaders: ["authorization"],
        timeoutMs: 30_000,
        responseBytesMax: 1_000,
        ...changes,
      }),
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

const answering = (...addresses: string[]): Resolve => {
  const rest = addresses.map((address) => [{ address, family: address.includes(":") ? 6 : 4 }]);
  return async () => rest.shift() ?? [];
};

describe("addresses that are not permitted", () => {
  test.each([
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fe80::1]/",
    "http://0.0.0.0/",
  ])("%s is refused without a connection", async (url) => {
    await using client = guarded();
    expect(await client.post(url)).toMatchObject({ kind: "refused" });
  });

  test("a name that leads to one is refused", async () => {
    await using client = guarded({ resolve: answering("169.254.169.254") });
    const outcome = await client.post("http://innocent.example/");
    expect(outcome).toEqual({
      kind: "refused",
      reason: "the address is not permitted: addresses of this range are never called",
    });
  });

  test("only the permitted ones of several addresses are connected to", async () => {
    await using receiver = await startReceiver();
    const both = [
      { address: "169.254.169.254", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    await using client = guarded({ resolve: async () => both });
    const outcome = await client.post(`http://mixed.example:${receiver.port}/`);
    expect(outcome).toMatchObject({ kind: "answered", status: 204 });
  });

  test("the daemon itself is refused", async () => {
    await using receiver = await startReceiver();
    await using client = guarded({ ownPort: receiver.port });
    expect(await client.post(receiver.url)).toMatchObject({ kind: "refused" });
    expect(receiver.received).toEqual([]);
  });

  test("a public policy refuses the machine and its network", async () => {
    await using client = guarded({ policy: "public" });
    for (const url of ["http://127.0.0.1:9/", "http://192.168.0.1/", "http://[::1]:9/"])
      expect(await client.post(url)).toMatchObject({ kind: "refused" });
  });
});

describe("a name server that changes its mind", () => {
  test("the address that was checked is the one that is connected to", async () => {
    await using receiver = await startReceiver();
    let asked = 0;
    await using client = guarded({
      resolve: async () => {
        asked += 1;
        return [{ address: asked === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }];
      },
    });
    const outcome = await client.post(`http://rebinding.example:${receiver.port}/`);
    expect(outcome).toMatchObject({ kind: "answered" });
    expect(asked).toBe(1);
  });

  test("a later answer is checked like the first", async () => {
    await using receiver = await startReceiver((_request, response) =>
      response.writeHead(204, { Connection: "close" }).end(),
    );
    await using client = guarded({ resolve: answering("127.0.0.1", "169.254.169.254") });
    const url = `http://rebinding.example:${receiver.port}/`;
    expect(await client.post(url)).toMatchObject({ kind: "answered" });
    expect(await client.post(url)).toMatchObject({ kind: "refused" });
  });
});

describe("redirects", () => {
  test("one to a forbidden address is refused", async () => {
    await using receiver = await startReceiver((_request, response) =>
      response.writeHead(307, { Location: "http://169.254.169.254/" }).end(),
    );
    await using client = guarded();
    expect(await client.post(receiver.url)).toMatchObject({ kind: "refused" });
  });

  test("307 repeats the request, without credentials at another origin", async () => {
    await using target = await startReceiver();
    await using receiver = await startReceiver((_request, response) =>
      response.writeHead(307, { Location: `${target.url}/moved` }).end(),
    );
    await using client = guarded();
    expect(await client.post(receiver.url)).toMatchObject({ kind: "answered", status: 204 });
    expect(target.received[0]).toMatchObject({ method: "POST", path: "/moved", body: "hello" });
    expect(target.received[0]?.headers).toMatchObject({ "x-kept": "yes" });
    expect(target.received[0]?.headers).not.toHaveProperty("authorization");
  });

  test("follows a 302, with credentials only at the same origin", async () => {
    await using receiver = await startReceiver(({ path }, response) =>
      path === "/"
        ? response.writeHead(302, { Location: "/there" }).end()
        : response.writeHead(200).end("ok"),
    );
    await using client = guarded();
    expect(await client.post(receiver.url)).toMatchObject({ kind: "answered", status: 200 });
    expect(receiver.received[1]).toMatchObject({ method: "GET", path: "/there", body: "" });
    expect(receiver.received[1]?.headers).toMatchObject({ authorization: "secret" });
  });

  test.each([301, 302, 303])(
    "%i is the answer to a request whose body must arrive",
    async (status) => {
      await using target = await startReceiver();
      await using receiver = await startReceiver((_request, response) =>
        response.writeHead(status, { Location: target.url }).end(),
      );
      await using client = guarded();
      const sent = client.post(receiver.url, { followsRedirects: "with_body" });
      expect(await sent).toMatchObject({ kind: "answered", status });
      expect(target.received).toEqual([]);
    },
  );

  test("308 is followed by a request whose body must arrive", async () => {
    await using target = await startReceiver();
    await using receiver = await startReceiver((_request, response) =>
      response.writeHead(308, { Location: target.url }).end(),
    );
    await using client = guarded();
    await client.post(receiver.url, { followsRedirects: "with_body" });
    expect(target.received[0]).toMatchObject({ method: "POST", body: "hello" });
  });

  test("a redirect loop ends", async () => {
    await using receiver = await startReceiver((_request, response) =>
      response.writeHead(308, { Location: "/" }).end(),
    );
    await using client = guarded();
    expect(await client.post(receiver.url)).toEqual({
      kind: "failed",
      reason: "too many redirects",
    });
    expect(receiver.received).toHaveLength(6);
  });

  test.each(["ftp://127.0.0.1/", "file:///etc/passwd", "http://", "javascript:1"])(
    "one to %s is refused",
    async (location) => {
      await using receiver = await startReceiver((_request, response) =>
        response.writeHead(302, { Location: location }).end(),
      );
      await using client = guarded();
      expect(await client.post(receiver.url)).toMatchObject({ kind: "refused" });
    },
  );
});

describe("servers that behave badly", () => {
  test("a huge answer is cut", async () => {
    await using receiver = await startReceiver((_request, response) => {
      response.writeHead(200);
      const flood = () => {
        while (response.write(Buffer.alloc(65_536, 97)));
        response.once("drain", flood);
      };
      flood();
    });
    await using client = guarded();
    const outcome = await client.post(receiver.url);
    expect(outcome).toMatchObject({ kind: "answered", isCut: true });
    expect(outcome.kind === "answered" && outcome.body.byteLength).toBe(1_000);
  });

  test("a request to a server that never answers times out", async () => {
    await using receiver = await startReceiver(() => undefined);
    await using client = guarded();
    const outcome = await client.post(receiver.url, { timeoutMs: 50 });
    expect(outcome).toEqual({ kind: "failed", reason: "no answer within 0.05 s" });
  });

  test("a slowly trickling response gets no more time", async () => {
    await using receiver = await startReceiver((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("."), 5);
      response.once("close", () => clearInterval(timer));
    });
    await using client = guarded();
    const outcome = await client.post(receiver.url, { timeoutMs: 60 });
    expect(outcome).toMatchObject({ kind: "failed" });
  });

  test("an aborted response, an unreachable server and one without HTTP are failures without addresses", async () => {
    await using reset = await startReceiver((_request, response) =>
      response.socket?.resetAndDestroy(),
    );
    const babble = createServer((socket) => socket.end("220 mail.example ESMTP\r\n"));
    await new Promise<void>((resolve) => babble.listen(0, "127.0.0.1", resolve));
    const { port } = babble.address() as AddressInfo;
    await using client = guarded();
    for (const url of [reset.url, `http://127.0.0.1:${port}/`, "http://127.0.0.1:9/"]) {
      const outcome = await client.post(url);
      expect(outcome).toMatchObject({ kind: "failed" });
      expect(JSON.stringify(outcome)).not.toContain("127.0.0.1");
    }
    babble.close();
  });

  test("a request to an unknown host name fails", async () => {
    await using client = guarded({
      resolve: async () => {
        throw Object.assign(new Error("getaddrinfo ENOTFOUND x"), { code: "ENOTFOUND" });
      },
    });
    const outcome = await client.post("http://nowhere.example/");
    expect(outcome).toEqual({ kind: "failed", reason: "the name is not known (ENOTFOUND)" });
  });
});
