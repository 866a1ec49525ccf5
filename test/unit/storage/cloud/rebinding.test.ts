import { once } from "node:events";
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createAddressCheck } from "../../../../daemon/outbound/address-policy.ts";
import {
  createGuardedDispatcher,
  createGuardedRequest,
} from "../../../../daemon/outbound/guarded-request.ts";
import { createAiClient } from "../../../../daemon/vault/ai/provider-client.ts";
import { cloudProviderTypes } from "../../../../storage/cloud/registry.ts";
import { AI_KEY, AI_MODEL, startAiServer } from "../../../stand-ins/ai-server.ts";
import { startNextcloud } from "../../../stand-ins/nextcloud-server.ts";
import { S3_KEY, startS3Server } from "../../../stand-ins/s3-server.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";

// Servers whose name leads to a permitted address when they are connected, and to a forbidden one later (DNS rebinding).

const signal = new AbortController().signal;
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A name for a server on loopback, which a stand-in resolver moves to a forbidden address. */
async function openName(origin: string) {
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const target = connectSocket(Number(new URL(origin).port), "127.0.0.1");
    for (const each of [socket, target]) {
      sockets.add(each);
      each.on("error", () => each.destroy());
      each.on("close", () => sockets.delete(each));
    }
    socket.pipe(target).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  let address = "127.0.0.1";
  const dispatcher = createGuardedDispatcher({
    check: createAddressCheck({ policy: "home", own: () => [], machine: () => [] }),
    resolve: async () => [{ address, family: 4 }],
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  closers.push(async () => {
    await dispatcher.destroy();
    cut();
    await new Promise((done) => proxy.close(done));
  });
  return {
    url: `http://storage.example:${(proxy.address() as AddressInfo).port}`,
    dispatcher,
    /** From now on the name leads to a metadata service; kept connections end. */
    rebind() {
      address = "169.254.169.254";
      cut();
    },
  };
}

const servers = {
  async s3() {
    const server = await startS3Server();
    return {
      server,
      toInput: (url: string) => ({
        settings: { endpoint: url, bucket: server.bucket, region: server.region },
        credentials: { access_key_id: S3_KEY.id, secret_access_key: S3_KEY.secret },
      }),
    };
  },
  async webdav() {
    const account = { username: "anna", password: "app-password", userId: "anna" };
    const server = await startNextcloud(account);
    return {
      server,
      toInput: (url: string) => ({
        settings: { url: `${url}/remote.php/dav/files/anna`, username: "anna" },
        credentials: { password: account.password },
      }),
    };
  },
  async nextcloud() {
    const account = { username: "anna", password: "app-password", userId: "anna" };
    const server = await startNextcloud(account);
    return {
      server,
      toInput: (url: string) => ({
        settings: { url, username: "anna", root: "" },
        credentials: { password: account.password },
      }),
    };
  },
};

describe("attack: a server's name leads to a forbidden address after it was connected", () => {
  test.each(Object.entries(servers))("the connection of %s is refused", async (type, start) => {
    const { server, toInput } = await start();
    closers.push(async () => server[Symbol.asyncDispose]());
    const name = await openName(server.origin);
    const connect = () =>
      cloudProviderTypes
        .find((each) => each.type === type)
        ?.connect(
          {
            connectionId: "c",
            ...toInput(name.url),
            probeResult: undefined,
            saveCredentials: async () => undefined,
            signal,
          },
          { ...testProviderDeps("/nowhere", Date.now), guarded: name.dispatcher },
        );
    const outcome = await connect();
    if (outcome?.kind !== "ok") throw new Error(JSON.stringify(outcome));
    const list = () => outcome.provider.list({ folder: "", signal });
    expect((await list()).kind).toBe("ok");
    name.rebind();
    await expect.poll(list).toEqual({ kind: "offline", sent: false, note: "address_refused" });
    expect(await connect()).toMatchObject({ reason: "address_refused" });
  });

  test("a call to an AI provider is refused", async () => {
    const server = await startAiServer();
    closers.push(async () => server[Symbol.asyncDispose]());
    const name = await openName(server.origin);
    const request = createGuardedRequest(name.dispatcher);
    const client = createAiClient({ request, clock: () => 0 });
    const provider = {
      providerId: "openai_compatible" as const,
      baseUrl: `${name.url}/v1/`,
      apiKey: AI_KEY,
      modelName: AI_MODEL,
      embeddingModelName: undefined,
    };
    const list = () => client.listModels(provider, signal);
    expect((await list()).kind).toBe("answered");
    name.rebind();
    await expect.poll(async () => JSON.stringify(await list())).toContain("not permitted");
  });
});
