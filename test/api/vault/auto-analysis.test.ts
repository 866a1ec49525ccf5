import { mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let person: VaultPerson;
let folder: string;
let items: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  person = createPerson(daemon, "mira", "198.51.100.1");
  await person.register();
  await person.signIn();
  folder = join(daemon.home, "files", "mira", "papers");
  await mkdir(folder, { recursive: true });
  const connected = await person.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: "Papers", settings: { root: "papers" } },
  });
  items = `/api/cloud/connections/${connected.json.id}/items`;
});
afterAll(() => daemon[Symbol.asyncDispose]());

const settings = (json: Readonly<Record<string, unknown>>) =>
  person.request("/api/cloud/analysis-settings", { method: "PATCH", json });
const list = () => person.request(`${items}?refresh=true`);
const detail = async (name: string) =>
  (await person.request(`${items}/${encodeURIComponent(name)}/detail`)).json;

async function analysed(name: string, text: string | null) {
  return vi.waitUntil(
    async () => {
      const found = await detail(name);
      const isDone = ["ready", "unsupported"].includes(found.analysis_status);
      return isDone && found.extracted_text === text && !found.is_stale ? found : undefined;
    },
    { timeout: 60_000, interval: 50 },
  );
}

test("a listing queues new and changed files for analysis within the owner's limit", async () => {
  await writeFile(join(folder, "old.txt"), "before the setting");
  await list();
  expect(await detail("old.txt")).toMatchObject({ analysis_status: "none", is_stale: false });

  expect(await settings({ auto_analyze: true, max_analyze_bytes: 1000 })).toMatchObject({
    status: 200,
  });
  await writeFile(join(folder, "new.txt"), "a first text");
  await writeFile(join(folder, "large.txt"), "x".repeat(1001));
  await list();
  expect(await analysed("new.txt", "a first text")).toMatchObject({ analysis_status: "ready" });
  await analysed("old.txt", "before the setting");
  expect(await detail("large.txt")).toMatchObject({ analysis_status: "none" });

  await writeFile(join(folder, "new.txt"), "another text, longer");
  await list();
  await analysed("new.txt", "another text, longer");
  const found = await person.request("/api/search?q=longer");
  expect(found.json).toMatchObject({ total: 1, items: [{ item: { name: "new.txt" } }] });
  expect((await person.request("/api/search?q=first")).json.total).toBe(0);
});

test("without the setting a changed file keeps its text and is marked stale", async () => {
  await settings({ auto_analyze: false });
  await writeFile(join(folder, "new.txt"), "a third text of another length");
  await utimes(join(folder, "new.txt"), new Date(), new Date(Date.now() + 5000));
  await list();
  expect(await detail("new.txt")).toMatchObject({
    analysis_status: "ready",
    extracted_text: "another text, longer",
    is_stale: true,
  });
  await person.request(`${items}/new.txt/analyze`, { method: "POST" });
  await analysed("new.txt", "a third text of another length");
});

test("a file that becomes unreadable loses its text and is no longer found", async () => {
  await settings({ auto_analyze: true });
  await writeFile(
    join(folder, "new.txt"),
    Buffer.from("7f454c4602010100000000000000000003003e00", "hex"),
  );
  await list();
  expect(await analysed("new.txt", null)).toMatchObject({
    analysis_status: "unsupported",
    unsupported_analysis_reason: "unsupported_format",
    topics: [],
  });
  expect((await person.request("/api/search?q=third")).json.total).toBe(0);
});
