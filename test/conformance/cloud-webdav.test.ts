import { Buffer } from "node:buffer";
import { webdav } from "../../storage/cloud/webdav/provider.ts";
import { startDavStandIn, type DavQuirks } from "../stand-ins/dav-server.ts";
import { makeDavSubject, type DavBackend } from "../support/cloud/dav-subject.ts";
import { davUser } from "../support/cloud/dav-servers.ts";
import { networkFaults } from "../support/cloud/fault-proxy.ts";
import { cloudProviderSuite, type SuiteOptions } from "./cloud-provider.suite.ts";

const common = {
  // There are no pages: a listing is one answer.
  entriesForPages: 60,
  withoutFaults: "WebDAV has neither pages nor tokens",
} satisfies Partial<SuiteOptions>;

// A stand-in in this process, which needs nothing else: once conforming, once with every known fault.
cloudProviderSuite("webdav", {
  ...common,
  capabilities: webdav.capabilities,
  make: async () => makeDavSubject(await startStandIn({ quotaBytes: 1e9 })),
  faults: [...networkFaults, "lockChild", "alterUploads"],
});

cloudProviderSuite("webdav (careless stand-in)", {
  ...common,
  capabilities: {
    ...webdav.capabilities,
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
  capabilities: { ...webdav.capabilities, versionResolutionMs: 1_000 },
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
      store.all(store.root).flatMap(({ name }) => (name.includes("croft-") ? [name] : [])),
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
