import { randomUUID } from "node:crypto";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { ProviderCapabilities } from "../../storage/cloud/provider.ts";
import { webdav } from "../../storage/cloud/webdav/provider.ts";
import { makeDavSubject, type DavBackend } from "../support/cloud/dav-subject.ts";
import {
  davUser,
  missingFor,
  startDavServer,
  type DavServer,
  type DavServerName,
} from "../support/cloud/dav-servers.ts";
import { networkFaults } from "../support/cloud/fault-proxy.ts";
import { cloudProviderSuite, type SuiteOptions } from "./cloud-provider.suite.ts";

// Servers of the system's packages. They report no quota; Apache's etags are weak at first, nginx sends no etags.
const LOOKS_ALIKE = "changes of one size within one second look alike on this server";
const real: Record<
  DavServerName,
  { readonly capabilities?: Partial<ProviderCapabilities> } & Pick<
    SuiteOptions,
    "cannot" | "refusesName"
  >
> = {
  apache: { capabilities: { versionResolutionMs: 1_000 } },
  lighttpd: {},
  nginx: {
    capabilities: { versionResolutionMs: 1_000 },
    cannot: { 15: LOOKS_ALIKE },
    // It would take them and never list them.
    refusesName: (name) => name.startsWith("."),
  },
  rclone: {},
  sabre: { capabilities: { quota: true } },
  // Its tags are weak and made of the size and the time.
  tomcat: {
    capabilities: { versionResolutionMs: 1_000 },
    refusesName: (name) => name.includes("\\"),
  },
};

for (const name of Object.keys(real) as DavServerName[]) {
  const missing = missingFor(name);
  let server: Promise<DavServer> | undefined;
  afterAll(async () => (await server)?.[Symbol.asyncDispose]());
  cloudProviderSuite(`webdav (${name})`, {
    // There are no pages: a listing is one answer.
    entriesForPages: 60,
    withoutFaults: "WebDAV has neither pages nor tokens, and a real server does not play along",
    capabilities: { ...webdav.capabilities, quota: false, ...real[name].capabilities },
    make: async () => makeDavSubject(await makeFolder(await (server ??= startDavServer(name)))),
    faults: networkFaults,
    needs: { isThere: missing === undefined, reason: missing ?? "" },
    cannot: real[name].cannot ?? {},
    refusesName: real[name].refusesName ?? (() => false),
  });
}

async function makeFolder(server: DavServer): Promise<DavBackend> {
  const folder = randomUUID();
  const path = await server.makeFolder(folder);
  return {
    origin: server.origin,
    isReal: true,
    type: webdav,
    settings: (at) => ({ url: `${at}/${folder}`, username: davUser.username }),
    credentials: { password: davUser.password },
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
      return all.filter((each) => each.includes("croft-"));
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}
