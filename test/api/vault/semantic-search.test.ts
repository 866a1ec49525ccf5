import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import {
  AI_EMBEDDING_MODEL,
  AI_KEY,
  AI_MODEL,
  type AiServer,
  startAiServer,
} from "../../stand-ins/ai-server.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let server: AiServer;
let admin: VaultPerson;
let mira: VaultPerson;
let noor: VaultPerson;

beforeAll(async () => {
  server = await startAiServer();
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off" },
    expectErrors: ({ message }) => message === "job failed, dead-lettered",
  });
  admin = createPerson(daemon, "keeper", "198.51.100.250");
  admin.password = daemon.first?.password ?? "";
  await daemon
    .request("/api/auth/login", {
      json: { email: "keeper@croft.localhost", password: admin.password },
      headers: { "User-Agent": "croft-test" },
    })
    .then(({ json }) => (admin.accessToken = json.access_token));
  [mira, noor] = [
    createPerson(daemon, "mira", "198.51.100.1"),
    createPerson(daemon, "noor", "198.51.100.2"),
  ];
  for (const person of [mira, noor]) {
    await person.register();
    await person.signIn();
  }
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  server.behaviour = "answers";
});

const configure = (json: Readonly<Record<string, unknown>>) =>
  admin.request("/api/admin/ai-config", { method: "PUT", json });
const useOllama = (more: Readonly<Record<string, unknown>> = {}) =>
  configure({
    provider_id: "ollama",
    base_url: server.origin,
    model_name: AI_MODEL,
    embedding_model_name: AI_EMBEDDING_MODEL,
    ...more,
  });

async function upload(person: VaultPerson, content: string, name: string): Promise<string> {
  const body = new FormData();
  body.set("file", new File([content], name));
  const answer = await person.request("/api/documents/upload", { method: "POST", body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.json.id;
}

async function reaches(person: VaultPerson, id: string, status: string): Promise<void> {
  await vi.waitUntil(
    async () => {
      const { json } = await person.request(`/api/documents/${id}`);
      return json.status === "ready" && json.semantic_index_status === status;
    },
    { timeout: 60_000, interval: 50 },
  );
}

const search = (person: VaultPerson, q: string, more = "&semantic=true") =>
  person.request(`/api/search?q=${encodeURIComponent(q)}${more}`);

const names = (answer: Awaited<ReturnType<typeof search>>): string[] =>
  answer.json.items.map(
    (item: { document?: { filename: string }; item?: { name: string } }) =>
      item.document?.filename ?? item.item?.name,
  );

test("the index follows the provider: none, built, found by meaning, rebuilt, deleted", async () => {
  const car = await upload(mira, "The garage has repaired the car for 300 euros.", "repair.txt");
  const trip = await upload(mira, "The hotel and the flight are booked.", "trip.txt");
  await reaches(mira, car, "none");
  expect(await search(mira, "automobile")).toMatchObject({
    status: 422,
    json: { detail: [{ loc: ["query", "semantic"] }] },
  });

  expect(await useOllama()).toMatchObject({ status: 200 });
  await reaches(mira, car, "ready");
  await reaches(mira, trip, "ready");
  expect((await search(mira, "automobile", "")).json.total).toBe(0);
  const found = await search(mira, "automobile");
  expect(found.status).toBe(200);
  expect(names(found)[0]).toBe("repair.txt");
  expect(found.json.items[0].snippet.text).toContain("garage");

  // Words and meaning together are better than either.
  expect(names(await search(mira, "booked"))[0]).toBe("trip.txt");
  expect(names(await search(mira, "journey"))[0]).toBe("trip.txt");
  const filtered = await search(mira, "automobile", "&semantic=true&content_type=application/pdf");
  expect(filtered.json.total).toBe(0);

  const flat = await upload(mira, "A letter about the rent of the flat.", "rent.txt");
  await reaches(mira, flat, "ready");
  expect(names(await search(mira, "landlord"))[0]).toBe("rent.txt");

  // Another provider is another model: its index is built from the beginning.
  server.embedded.length = 0;
  await configure({
    provider_id: "openai",
    base_url: `${server.origin}/v1`,
    api_key: AI_KEY,
    model_name: AI_MODEL,
    embedding_model_name: AI_EMBEDDING_MODEL,
  });
  await vi.waitUntil(() => server.embedded.length >= 3, { timeout: 60_000 });
  for (const id of [car, trip, flat]) await reaches(mira, id, "ready");
  expect(names(await search(mira, "automobile"))[0]).toBe("repair.txt");

  await configure({ provider_id: "openai", is_active: false });
  for (const id of [car, trip, flat]) await reaches(mira, id, "none");
  expect(await search(mira, "automobile")).toMatchObject({ status: 422 });
});

test("texts that a wrong key left without an index are indexed when the right one is set", async () => {
  const openai = {
    ...{ provider_id: "openai", base_url: `${server.origin}/v1`, model_name: AI_MODEL },
    embedding_model_name: AI_EMBEDDING_MODEL,
  };
  await configure({ ...openai, api_key: "wrong" });
  const letter = await upload(mira, "A letter about a bicycle.", "bicycle.txt");
  await reaches(mira, letter, "failed");
  await configure({ ...openai, api_key: AI_KEY });
  await reaches(mira, letter, "ready");
  await configure({ provider_id: "openai", is_active: false });
});

test("semantic search never returns texts of another account", async () => {
  await useOllama();
  const own = await upload(noor, "My car is in the garage.", "noor.txt");
  await reaches(noor, own, "ready");
  expect(names(await search(noor, "vehicle"))).toEqual(["noor.txt"]);
  expect(names(await search(mira, "vehicle"))).not.toContain("noor.txt");
});

test("items of connected storage are indexed, and their status is true", async () => {
  await useOllama();
  const folder = join(daemon.home, "files", "noor", "papers");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "stay.txt"), "The journey was long.");
  const connected = await noor.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: "Papers", settings: { root: "papers" } },
  });
  const items = `/api/cloud/connections/${connected.json.id}/items`;
  await noor.request(items);
  await noor.request(`${items}/stay.txt/analyze`, { method: "POST" });
  await vi.waitUntil(
    async () =>
      (await noor.request(`${items}/stay.txt/detail`)).json.semantic_index_status === "ready",
    { timeout: 60_000, interval: 50 },
  );
  expect(names(await search(noor, "hotel"))[0]).toBe("stay.txt");
});

test("a provider that fails makes the search unavailable, and other searches continue", async () => {
  await useOllama();
  server.behaviour = "unavailable";
  const failed = await search(mira, "automobile");
  expect(failed).toMatchObject({ status: 503 });
  expect(failed.text).not.toContain(AI_KEY);
  expect((await search(mira, "garage", "")).json.total).toBe(1);
});

test("a wrong answer of the provider makes the status failed, and classifying again mends it", async () => {
  await useOllama();
  server.behaviour = "zero_vectors";
  const id = await upload(mira, "The vehicle is sold.", "sale.txt");
  await reaches(mira, id, "failed");
  server.behaviour = "answers";
  await mira.request(`/api/documents/${id}/classify`, { method: "POST" });
  await reaches(mira, id, "ready");
});
