import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { startFaultProxy } from "../../support/cloud/fault-proxy.ts";
import { davUser, missingFor, startDavServer } from "../../support/cloud/dav-servers.ts";
import { startTestDaemon } from "../../support/daemon.ts";
import { skipUnless } from "../../support/skip.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

// Documents in connected storage on servers that other projects have written.

describe.each(["apache", "sabre"] as const)("documents on %s", (name) => {
  const missing = missingFor(name);

  skipUnless(missing === undefined, missing ?? "")(
    "a document is written, read by ranges, kept when the provider fails, and deleted with its file",
    async () => {
      await using server = await startDavServer(name);
      await using between = await startFaultProxy({ target: server.origin });
      await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
      const person = await connect(daemon, between.origin);
      // sabre keeps its properties in a file whose name begins with a dot.
      const files = async () =>
        (await readdir(join(server.files, "croft"))).filter((file) => !file.startsWith("."));

      const made = await upload(person, "the letter of the landlord");
      expect(made).toMatchObject({ status: 201, json: { storage_backend: "webdav" } });
      const [file = "", ...others] = await files();
      expect(others).toEqual([]);
      expect(await readFile(join(server.files, "croft", file), "utf8")).toBe(
        "the letter of the landlord",
      );
      const path = `/api/documents/${made.json.id}`;
      const part = await person.request(`${path}/content`, { headers: { Range: "bytes=-8" } });
      expect(part).toMatchObject({ status: 206, text: "landlord" });
      expect((await person.request("/api/auth/me/quota")).json.used_bytes).toBe(0);

      between.answerNext(({ method }) => method === "DELETE", 503, {}, "");
      const failed = await person.request(path, { method: "DELETE" });
      expect(failed.json).toEqual({ success: false, cloud_delete_failed: true });
      expect((await person.request(path)).status).toBe(200);
      const gone = await person.request(path, { method: "DELETE" });
      expect(gone.json).toEqual({ success: true });
      expect(await files()).toEqual([]);

      const kept = await upload(person, "kept by the provider");
      await person.request(`/api/documents/${kept.json.id}?remove_only=true`, { method: "DELETE" });
      expect(await files()).toHaveLength(1);
    },
    120_000,
  );
});

/** A user whose new documents go to the server. */
async function connect(
  daemon: Awaited<ReturnType<typeof startTestDaemon>>,
  origin: string,
): Promise<VaultPerson> {
  const person = createPerson(daemon, "mira", "198.51.100.7");
  await person.register();
  await person.signIn();
  const connected = await person.request("/api/cloud/connections", {
    json: {
      provider: "webdav",
      display_name: "Files",
      settings: { url: origin, username: davUser.username },
      credentials: { password: davUser.password },
    },
  });
  expect(connected).toMatchObject({ status: 201 });
  const chosen = await person.request("/api/auth/me/default-storage", {
    method: "PATCH",
    json: { backend: "webdav" },
  });
  expect(chosen).toMatchObject({ status: 200 });
  return person;
}

function upload(person: VaultPerson, content: string) {
  const body = new FormData();
  body.set("file", new File([content], "note.txt", { type: "text/plain" }));
  return person.request("/api/documents/upload", { method: "POST", body });
}
