import { expect, test } from "vitest";
import { startDavStandIn } from "../../stand-ins/dav-server.ts";
import { startNextcloud } from "../../stand-ins/nextcloud-server.ts";
import { davUser } from "../../support/cloud/dav-servers.ts";
import { startTestDaemon } from "../../support/daemon.ts";
import { createPerson } from "../../support/vault/vault-person.ts";

// A stream error without a listener ends the process: the runner reports it as an unhandled error and fails the run.
const refused = [
  {
    title: "a name with a dot in front at a WebDAV server that hides those",
    start: () => startDavStandIn({ ...davUser, hidesDotNames: true }),
    provider: "webdav",
    path: "/dav",
    name: ".hidden",
    reason: "hidden_name",
  },
  {
    title: "one of our own temporary names at a WebDAV server",
    start: () => startDavStandIn(davUser),
    provider: "webdav",
    path: "/dav",
    name: ".croft-home-00000000-0000-4000-8000-000000000001.tmp",
    reason: "reserved_name",
  },
  {
    title: "a name of 255 bytes at a Nextcloud server",
    start: () => startNextcloud({ ...davUser, userId: "anna" }),
    provider: "nextcloud",
    path: "",
    name: "n".repeat(255),
    reason: "too_long",
  },
  {
    title: "a name with a backslash at a Nextcloud server",
    start: () => startNextcloud({ ...davUser, userId: "anna" }),
    provider: "nextcloud",
    path: "",
    name: "a\\b",
    reason: "forbidden_character",
  },
] as const;

test.each(refused)(
  "the daemon answers and lives on after an upload of $title",
  async ({ start, provider, path, name, reason }) => {
    await using server = await start();
    await using daemon = await startTestDaemon();
    const mira = createPerson(daemon, "mira", "192.0.2.1");
    await mira.register();
    await mira.signIn();
    const connected = await mira.request("/api/cloud/connections", {
      method: "POST",
      json: {
        provider,
        display_name: "Files",
        settings: { url: `${server.origin}${path}`, username: davUser.username },
        credentials: { password: davUser.password },
      },
    });
    expect([connected.status, connected.text]).toEqual([201, expect.any(String)]);
    const base = `/api/cloud/connections/${connected.json.id}`;
    for (let round = 1; round <= 3; round++) {
      const form = new FormData();
      form.set("parent_ref", "");
      form.set("filename", name);
      form.set("file", new File(["x".repeat(100_000)], "file"));
      const answer = await mira.request(`${base}/items/upload`, { method: "POST", body: form });
      expect([answer.status, answer.json]).toEqual([422, { kind: "invalid_name", reason }]);
    }
    // A late error of a stream comes in one of the next turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await daemon.request("/healthz")).status).toBe(200);
    expect((await mira.request(`${base}/items?refresh=true`)).json).toMatchObject({ items: [] });
  },
);
