import { randomUUID } from "node:crypto";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Agent } from "undici";
import { afterAll } from "vitest";
import type { CloudProvider, Facts, Powers } from "../../storage/cloud/provider.ts";
import { webdav } from "../../storage/cloud/webdav/provider.ts";
import {
  davUser,
  missingFor,
  startDavServer,
  type DavServer,
  type DavServerName,
} from "../support/dav-servers.ts";
import { impatient, networkFaults, startFaultProxy } from "../support/fault-proxy.ts";
import { testProviderDeps } from "../support/vault-cloud.ts";
import {
  cloudProviderSuite,
  type CloudSubject,
  type SuiteOptions,
} from "./cloud-provider.suite.ts";

const LOOKS_ALIKE = "changes of one size within one second look alike on this server";

/** What plain servers do at best: they know of no quota, and of no time below a second. */
const atBest: Powers = { ...webdav.can, quota: false, versionResolutionMs: 1_000 };

const configurations: Record<
  DavServerName,
  { readonly can?: Partial<Powers>; readonly more?: Partial<SuiteOptions> }
> = {
  apache: {},
  lighttpd: {},
  nginx: { more: { cannot: { 15: LOOKS_ALIKE } } },
  rclone: { more: { cannot: { 15: LOOKS_ALIKE } } },
};

for (const name of Object.keys(configurations) as DavServerName[]) {
  const missing = missingFor(name);
  const { can, more } = configurations[name];
  let server: Promise<DavServer> | undefined;
  afterAll(async () => (await server)?.[Symbol.asyncDispose]());
  cloudProviderSuite(`webdav (${name})`, {
    can: { ...atBest, ...can },
    make: async () => makeSubject(await (server ??= startDavServer(name))),
    faults: networkFaults,
    withoutFaults: "only a stand-in can be told to do that",
    needs: { isThere: missing === undefined, reason: missing ?? "" },
    ...more,
  });
}

async function makeSubject(server: DavServer): Promise<CloudSubject> {
  const folder = randomUUID();
  const path = await server.makeFolder(folder);
  const proxy = await startFaultProxy({ target: server.origin });
  const agent = new Agent();
  const connect = async (facts: Facts | undefined) => {
    const outcome = await webdav.connect(
      {
        connectionId: "c",
        settings: { url: `${proxy.origin}/${folder}`, username: davUser.username },
        credentials: { password: davUser.password },
        facts,
        saveCredentials: async () => undefined,
        signal: new AbortController().signal,
      },
      deps,
    );
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    return outcome;
  };
  const deps = {
    ...testProviderDeps("/", Date.now),
    newId: () => randomUUID(),
    guarded: impatient(agent, 2_000),
  };
  const { provider, facts } = await connect(undefined);
  const other: CloudProvider = (await connect(facts)).provider;
  return {
    provider,
    other,
    async overwrite(id, bytes) {
      const file = await open(join(path, id), "r+");
      try {
        await file.truncate(0);
        await file.write(bytes);
      } finally {
        await file.close();
      }
    },
    async leftovers() {
      const all = await readdir(path, { recursive: true });
      return all.filter((name) => name.includes(".croft-"));
    },
    faults: proxy.faults,
    async [Symbol.asyncDispose]() {
      await provider.close();
      await other.close();
      await agent.destroy();
      await proxy[Symbol.asyncDispose]();
      await rm(path, { recursive: true });
    },
  };
}
