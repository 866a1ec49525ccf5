import { Agent } from "undici";
import { afterAll, describe, expect, test } from "vitest";
import type { CloudProvider, ProviderDeps } from "../../../../storage/cloud/provider.ts";
import { createLocks } from "../../../../storage/locks.ts";
import { webdav } from "../../../../storage/cloud/webdav/provider.ts";
import { done, names, put, rename, tree } from "../../../conformance/cloud-provider/acting.ts";
import { startDavStandIn } from "../../../stand-ins/dav-server.ts";
import { startDropboxServer } from "../../../stand-ins/dropbox-server.ts";
import { davUser } from "../../../support/cloud/dav-servers.ts";
import { startFaultProxy, type FaultProxy } from "../../../support/cloud/fault-proxy.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";
import { connectDropbox } from "../../../support/cloud/vendor-drives.ts";

const agent = new Agent();
afterAll(() => agent.destroy());

interface Storage extends AsyncDisposable {
  readonly proxy: FaultProxy;
  readonly connect: (deps?: Partial<ProviderDeps>) => Promise<CloudProvider>;
  readonly isHop: (request: { readonly method: string; readonly path: string }) => boolean;
}

const storages: Record<string, () => Promise<Storage>> = {
  async webdav() {
    const server = await startDavStandIn({ ...davUser, mixesSpellings: true });
    const proxy = await startFaultProxy({ target: server.origin });
    return {
      proxy,
      isHop: ({ method }) => method === "MOVE",
      async connect(deps) {
        const outcome = await webdav.connect(
          {
            connectionId: "c",
            settings: { url: `${proxy.origin}/dav`, username: davUser.username },
            credentials: { password: davUser.password },
            probeResult: undefined,
            saveCredentials: async () => undefined,
            signal: new AbortController().signal,
          },
          {
            ...testProviderDeps("/nowhere", Date.now),
            newId: () => crypto.randomUUID(),
            guarded: agent,
            ...deps,
          },
        );
        if (outcome.kind !== "ok") throw new Error(outcome.kind);
        return outcome.provider;
      },
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  },
  async dropbox() {
    const server = await startDropboxServer();
    const proxy = await startFaultProxy({ target: server.origin });
    return {
      proxy,
      isHop: ({ path }) => path.endsWith("/move_v2"),
      connect: (deps = {}) =>
        connectDropbox(server, { dispatcher: agent, origin: proxy.origin, deps }),
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

describe.each(Object.entries(storages))("another spelling of a name, at %s", (_name, open) => {
  test("finishes an unfinished rename of a dead daemon in its own next listing only", async () => {
    await using storage = await open();
    const { proxy, connect, isHop } = storage;
    const provider = await connect();
    const file = await put(provider, "", "file.txt", "x");
    proxy.after(isHop, async () => proxy.faults.refuse());
    expect((await rename(provider, file, "FILE.txt")).kind).not.toBe("ok");
    proxy.faults.clear();
    const stopover = /^FILE\.txt\.croft-home-[0-9a-f]{12}$/;
    const there = await names(await connect({ home: "elsewhere" }), "");
    expect(there).toEqual([expect.stringMatching(stopover)]);
    expect(await tree(await connect())).toEqual({ "FILE.txt": "x" });
  });

  test("leaves both items when another client has taken the name meanwhile", async () => {
    await using storage = await open();
    const { proxy, connect, isHop } = storage;
    const provider = await connect();
    const file = await put(provider, "", "file.txt", "x");
    proxy.after(isHop, async () => proxy.faults.refuse());
    await rename(provider, file, "FILE.txt");
    proxy.faults.clear();
    await put(await connect({ home: "elsewhere" }), "", "File.txt", "theirs");
    const again = await connect();
    const held = await tree(again);
    expect(Object.values(held).sort()).toEqual(["theirs", "x"]);
    expect(await tree(again)).toEqual(held);
  });

  test("a listing leaves a running rename by a temporary name alone", async () => {
    await using storage = await open();
    const { proxy, connect, isHop } = storage;
    const locks = createLocks();
    const provider = await connect({ locks });
    const other = await connect({ locks });
    const file = await put(provider, "", "file.txt", "x");
    proxy.after(isHop, async () => {
      expect(await names(other, "")).toEqual([expect.stringContaining("FILE.txt.croft-home-")]);
    });
    expect(done(await rename(provider, file, "FILE.txt")).name).toBe("FILE.txt");
  });
});
