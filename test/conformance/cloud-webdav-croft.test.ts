import { randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll } from "vitest";
import { webdav } from "../../storage/cloud/webdav/provider.ts";
import { makeDavSubject, type DavBackend } from "../support/cloud/dav-subject.ts";
import { networkFaults } from "../support/cloud/fault-proxy.ts";
import { type DavAccount, startDavAccount } from "../support/vault/dav-account.ts";
import { cloudProviderSuite } from "./cloud-provider.suite.ts";

// The adapter of WebDAV storages against the WebDAV server of the vault: a folder of this machine behind both.
let account: Promise<DavAccount> | undefined;
afterAll(async () => (await account)?.stop());

cloudProviderSuite("webdav, croft's own server", {
  capabilities: { ...webdav.capabilities, normalisationSensitive: false },
  // There are no pages: a listing is one answer.
  entriesForPages: 60,
  faults: networkFaults,
  withoutFaults: "WebDAV has neither pages nor tokens, and the server does not play along",
  // Names are composed, as in the API.
  spell: (name) => name.normalize("NFC"),
  make: async () =>
    makeDavSubject(
      // The proxy of the faults has another port.
      await makeFolder(await (account ??= startDavAccount({ CROFT_ALLOWED_HOSTS: "127.0.0.1" }))),
    ),
});

async function makeFolder({ daemon, person, token, folder, dav }: DavAccount): Promise<DavBackend> {
  const name = randomUUID();
  const path = join(folder, name);
  await dav("MKCOL", `Files/${name}`);
  return {
    origin: daemon.url,
    isReal: true,
    type: webdav,
    settings: (at) => ({ url: `${at}/dav/Files/${name}`, username: person.email }),
    credentials: { password: token },
    async overwrite(id, bytes) {
      const href = id.split("/").map(encodeURIComponent).join("/");
      await dav("PUT", `Files/${name}/${href}`, { body: Uint8Array.from(bytes) });
    },
    async leftovers() {
      const all = await readdir(path, { recursive: true });
      return all.filter((each) => each.includes("croft-"));
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
