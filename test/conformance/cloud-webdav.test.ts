import { randomUUID } from "node:crypto";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { Powers } from "../../storage/cloud/provider.ts";
import { webdav } from "../../storage/cloud/webdav/provider.ts";
import { startDavStandIn, type DavQuirks } from "../stand-ins/dav-server.ts";
import { makeDavSubject, type DavBackend } from "../support/dav-subject.ts";
import {
  davUser,
  missingFor,
  startDavServer,
  type DavServer,
  type DavServerName,
} from "../support/dav-servers.ts";
import { networkFaults } from "../support/fault-proxy.ts";
import { cloudProviderSuite, type SuiteOptions } from "./cloud-provider.suite.ts";

const common = {
  // There are no pages: a listing is one answer.
  entriesForPages: 60,
  withoutFaults:
    "WebDAV has neither pages nor tokens, and no server of the system's packages plays along",
} satisfies Partial<SuiteOptions>;

// A stand-in in this process, which needs nothing else: as it should be, and as bad as they come.
cloudProviderSuite("webdav", {
  ...common,
  can: webdav.can,
  make: async () => makeDavSubject(await startStandIn({ quotaBytes: 1e9 })),
  faults: [...networkFaults, "lockChild", "alterUploads"],
});

cloudProviderSuite("webdav (careless stand-in)", {
  ...common,
  can: {
    ...webdav.can,
    quota: false,
    versionResolutionMs: 1_000,
    caseSensitive: false,
    normalisationSensitive: false,
  },
  make: async () =>
    makeDavSubject(
      await startStandIn({
        ignoresConditions: true,
        tags: "none",
        refusesIn207: true,
        makesTwice: true,
        mixesSpellings: true,
        hrefHost: "http://internal.example:8080",
        wantsPathDestination: true,
        keepsTruncated: true,
      }),
    ),
  faults: [...networkFaults, "lockChild", "alterUploads"],
  cannot: { 15: "changes of one size within one second look alike on this server" },
});

cloudProviderSuite("webdav (stand-in with tags that are weak at first)", {
  ...common,
  can: { ...webdav.can, versionResolutionMs: 1_000 },
  make: async () => makeDavSubject(await startStandIn({ tags: "weak_first", quotaBytes: 1e9 })),
  faults: [...networkFaults, "lockChild", "alterUploads"],
});

async function startStandIn(quirks: DavQuirks): Promise<DavBackend> {
  const { origin, dav, ...served } = await startDavStandIn({ ...davUser, ...quirks });
  const { store } = dav;
  const find = (id: string) => {
    const node = store.find(["dav", ...id.split("/")]);
    if (node === undefined) throw new Error("nothing there");
    return node;
  };
  return {
    origin,
    type: webdav,
    settings: (at) => ({ url: `${at}/dav`, username: davUser.username }),
    credentials: { password: davUser.password },
    overwrite: async (id, bytes) => store.write(find(id), Buffer.from(bytes)),
    leftovers: async () =>
      store.all(store.root).flatMap(({ name }) => (name.includes(".croft-") ? [name] : [])),
    faults: {
      lockChild(id) {
        find(id).isLocked = true;
      },
      alterUploads: () => dav.alterUploads(true),
      clear() {
        for (const node of store.all(store.root)) node.isLocked = false;
        dav.alterUploads(false);
      },
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

// Servers of the system's packages. They know of no quota; Apache's tags are weak at first, nginx tells none.
const LOOKS_ALIKE = "changes of one size within one second look alike on this server";
const real: Record<
  DavServerName,
  { readonly can?: Partial<Powers>; readonly cannot?: SuiteOptions["cannot"] }
> = {
  apache: { can: { versionResolutionMs: 1_000 } },
  lighttpd: {},
  nginx: { can: { versionResolutionMs: 1_000 }, cannot: { 15: LOOKS_ALIKE } },
  rclone: {},
};

for (const name of Object.keys(real) as DavServerName[]) {
  const missing = missingFor(name);
  let server: Promise<DavServer> | undefined;
  afterAll(async () => (await server)?.[Symbol.asyncDispose]());
  cloudProviderSuite(`webdav (${name})`, {
    ...common,
    can: { ...webdav.can, quota: false, ...real[name].can },
    make: async () => makeDavSubject(await makeFolder(await (server ??= startDavServer(name)))),
    faults: networkFaults,
    needs: { isThere: missing === undefined, reason: missing ?? "" },
    cannot: real[name].cannot ?? {},
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
      return all.filter((each) => each.includes(".croft-"));
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}
