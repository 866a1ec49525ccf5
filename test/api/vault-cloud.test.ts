import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

async function signUp(daemon: TestDaemon, handle: string): Promise<string> {
  const password = "correct Horse 7 battery";
  const email = `${handle}@example.org`;
  const registered = await daemon.request("/api/auth/register", {
    json: { handle, email, password },
  });
  expect(registered.status).toBe(201);
  const signedIn = await daemon.request("/api/auth/login", { json: { email, password } });
  expect(signedIn.status).toBe(200);
  return signedIn.json.access_token;
}

test("connects a folder, browses, uploads and downloads", async () => {
  const root = await mkdtemp(join(tmpdir(), "croft-files-"));
  await using daemon = await startTestDaemon({ env: { CROFT_LOCAL_ROOTS: root } });
  const bearer = await signUp(daemon, "mira");
  await mkdir(join(root, "Berichte"), { recursive: true });
  await writeFile(join(root, "grün 🌱.txt"), "hallo");
  const connected = await daemon.request("/api/cloud/connections", {
    bearer,
    json: { provider: "local_folder", display_name: "Files", settings: { root: "." } },
  });
  expect([connected.status, connected.text]).toEqual([201, expect.stringContaining("connected")]);
  const base = `/api/cloud/connections/${connected.json.id}`;
  const listed = await daemon.request(`${base}/items`, { bearer });
  console.log(listed.text);
  expect(listed.json.items.map((item: { name: string }) => item.name)).toEqual([
    "Berichte",
    "grün 🌱.txt",
  ]);
  const got = await daemon.request(`${base}/items/${encodeURIComponent("grün 🌱.txt")}/download`, {
    bearer,
  });
  expect([got.status, got.text]).toEqual([200, "hallo"]);
  console.log([...got.headers]);
  const form = new FormData();
  form.set("parent_ref", "Berichte");
  const bytes = randomBytes(2 * 1024 * 1024);
  form.set("file", new Blob([bytes]), "neu.bin");
  const uploaded = await daemon.request(`${base}/items/upload`, { bearer, body: form });
  console.log(uploaded.status, uploaded.text);
  const conflict = new FormData();
  conflict.set("parent_ref", "Berichte");
  conflict.set("file", new Blob([bytes]), "neu.bin");
  const again = await daemon.request(`${base}/items/upload`, { bearer, body: conflict });
  console.log(again.status, again.text);
});
