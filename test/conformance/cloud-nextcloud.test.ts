import { Buffer } from "node:buffer";
import { createNextcloudType } from "../../storage/cloud/nextcloud/provider.ts";
import { startNextcloud, type NextcloudOptions } from "../stand-ins/nextcloud-server.ts";
import { makeDavSubject, type DavBackend } from "../support/cloud/dav-subject.ts";
import { networkFaults } from "../support/cloud/fault-proxy.ts";
import { cloudProviderSuite, type SuiteOptions } from "./cloud-provider.suite.ts";

const PIECE_BYTES = 100_000;
const nextcloud = createNextcloudType(PIECE_BYTES);

const common = {
  entriesForPages: 60,
  // Around one piece, and around several.
  uploadSizes: [0, 1, 99_999, 100_000, 100_001, 199_999, 200_000, 200_001, 1_050_000],
  spell: (name) => name.normalize("NFC"),
  refusesName: (name) => name.includes("\\") || Buffer.byteLength(name) > 250,
  withoutFaults: "WebDAV has neither pages nor tokens",
  cannot: { 15: "changes of one size within one second look alike on this server" },
  faults: [...networkFaults, "lockChild", "alterUploads"],
} satisfies Partial<SuiteOptions>;

cloudProviderSuite("nextcloud", {
  ...common,
  capabilities: nextcloud.capabilities,
  make: async () => makeDavSubject(await start({})),
});

cloudProviderSuite("nextcloud (in a subfolder, older, without a trash)", {
  ...common,
  capabilities: { ...nextcloud.capabilities, trash: false },
  make: async () =>
    makeDavSubject(await start({ base: "/cloud", hasTrash: false, skipsTrash: false })),
});

cloudProviderSuite("nextcloud (that cannot skip its trash)", {
  ...common,
  capabilities: nextcloud.capabilities,
  make: async () => makeDavSubject(await start({ skipsTrash: false })),
});

async function start(options: Partial<NextcloudOptions>): Promise<DavBackend> {
  const server = await startNextcloud({
    username: "anna@example.org",
    password: "app-password",
    userId: "anna",
    ...options,
  });
  const { store } = server.dav;
  const find = (id: string) => {
    const node = store.find([...store.pathOf(server.files), ...id.split("/")]);
    if (node === undefined) throw new Error("nothing there");
    return node;
  };
  return {
    origin: server.origin,
    type: nextcloud,
    settings: (at) => ({ url: `${at}${options.base ?? ""}`, username: "anna@example.org" }),
    credentials: { password: "app-password" },
    overwrite: async (id, bytes) => store.write(find(id), Buffer.from(bytes)),
    async leftovers() {
      const files = store.all(server.files).filter(({ name }) => name.includes("croft-"));
      return [...files, ...server.uploads.children.values()].map(({ name }) => name);
    },
    async restoreLast() {
      server.restoreLast();
    },
    faults: {
      lockChild(id) {
        find(id).isLocked = true;
      },
      alterUploads: () => server.dav.alterUploads(true),
      clear() {
        for (const node of store.all(store.root)) node.isLocked = false;
        server.dav.alterUploads(false);
      },
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
