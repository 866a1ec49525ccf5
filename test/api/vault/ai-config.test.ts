import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { withDatabaseFile, withOneDaemon } from "../../support/skip.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";
import { AI_KEY, AI_MODEL, type AiServer, startAiServer } from "../../stand-ins/ai-server.ts";

let daemon: TestDaemon;
let server: AiServer;
let admin: VaultPerson;

beforeAll(async () => {
  server = await startAiServer();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  admin = createPerson(daemon, "keeper", "198.51.100.250");
  const answer = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
    headers: { "User-Agent": "croft-test" },
  });
  admin.accessToken = answer.json.access_token;
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
afterEach(() => {
  server.behaviour = "answers";
});

const PATH = "/api/admin/ai-config";
const set = (json: Readonly<Record<string, unknown>>) =>
  admin.request(PATH, { method: "PUT", json });
const tryOut = (json: Readonly<Record<string, unknown>>) =>
  admin.request(`${PATH}/test-connection`, { json });
const openai = () => ({
  provider_id: "openai",
  api_key: AI_KEY,
  base_url: `${server.origin}/v1`,
  model_name: AI_MODEL,
});
const ollama = () => ({
  provider_id: "ollama",
  base_url: server.origin,
  model_name: AI_MODEL,
});

describe("PUT /api/admin/ai-config", () => {
  test("switches the active provider and never returns a key", async () => {
    expect(await admin.request(PATH)).toMatchObject({ json: { active_provider_id: null } });
    const first = await set(openai());
    expect(first).toMatchObject({ status: 200, json: { active_provider_id: "openai" } });
    const second = await set(ollama());
    expect(second.json).toMatchObject({ active_provider_id: "ollama" });
    const active = second.json.providers.filter((one: { is_active: boolean }) => one.is_active);
    expect(active).toMatchObject([{ provider_id: "ollama", has_api_key: false }]);
    const stored = second.json.providers[0];
    expect(stored).toMatchObject({ provider_id: "openai", has_api_key: true, is_active: false });
    expect(first.text + second.text + (await admin.request(PATH)).text).not.toContain(AI_KEY);
  });

  withDatabaseFile("stores no key as it was given", async () => {
    await set(openai());
    for (const name of (await readdir(daemon.home)).filter((each) => each.startsWith("croft.db")))
      expect((await readFile(join(daemon.home, name))).includes(AI_KEY), name).toBe(false);
  });

  test("keeps absent fields, deletes a key that is null, and can leave no provider active", async () => {
    await set(openai());
    const kept = await set({ provider_id: "openai", model_name: "other" });
    expect(kept.json.providers[0]).toMatchObject({ model_name: "other", has_api_key: true });
    expect(await set({ provider_id: "openai", api_key: null })).toMatchObject({ status: 422 });
    const idle = await set({ provider_id: "openai", is_active: false });
    expect(idle.json).toMatchObject({ active_provider_id: null });
  });

  test("audits the names of changed fields, not their values", async () => {
    await set({ ...openai(), model_name: "secret-model", is_active: false });
    await set({ ...openai(), model_name: AI_MODEL });
    const { json, text } = await admin.request("/api/admin/audit?event_type=admin");
    expect(json.items[0]).toMatchObject({
      event_type: "admin.ai_config_changed",
      resource_id: "openai",
      metadata: { changed_fields: ["api_key", "model_name", "is_active"] },
    });
    expect(text).not.toContain("secret-model");
    expect(text).not.toContain(AI_KEY);
  });

  test("sends a stored key to no other server", async () => {
    await set(openai());
    const moved = { provider_id: "openai", base_url: "http://127.0.0.1:9/v1" };
    const refused = { status: 422, json: { detail: [{ loc: ["body", "api_key"] }] } };
    expect(await set(moved)).toMatchObject(refused);
    expect(await tryOut(moved)).toMatchObject(refused);
  });

  test.each([
    [{ provider_id: "skynet" }, "provider_id"],
    [{ provider_id: "anthropic", model_name: "m" }, "api_key"],
    [{ provider_id: "anthropic", api_key: "k" }, "model_name"],
    [{ provider_id: "openai_compatible", model_name: "m" }, "base_url"],
    [{ provider_id: "ollama", model_name: "m", base_url: "file:///etc/passwd" }, "base_url"],
    [{ provider_id: "ollama", model_name: "m", base_url: "http://u:p@host/" }, "base_url"],
    [{ provider_id: "ollama", model_name: "m", base_url: "http://host/?a=b" }, "base_url"],
    [{ provider_id: "ollama", model_name: "" }, "model_name"],
    [{ provider_id: "ollama", model_name: "m", api_key: "a\nb" }, "api_key"],
    [
      { provider_id: "anthropic", api_key: "k", model_name: "m", embedding_model_name: "e" },
      "embedding_model_name",
    ],
  ])("refuses %j", async (body, field) => {
    expect(await set(body)).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", field] }] },
    });
  });
});

describe("POST /api/admin/ai-config/test-connection", () => {
  test("tests a configuration without storing it", async () => {
    const before = (await admin.request(PATH)).text;
    const fine = await tryOut({ ...openai(), provider_id: "openai_compatible" });
    expect(fine).toMatchObject({ status: 200, json: { ok: true, error_code: null } });
    expect((await admin.request(PATH)).text).toBe(before);
  });

  test.each([
    ["a wrong key", { api_key: "wrong" }, "unauthorized"],
    ["an unknown model", { model_name: "none" }, "model_not_found"],
    ["an unknown embedding model", { embedding_model_name: "none" }, "model_not_found"],
    ["a closed port", { base_url: "http://127.0.0.1:9" }, "unreachable"],
    ["a forbidden address", { base_url: "http://169.254.169.254" }, "refused_address"],
  ])("reports the fault of %s", async (_what, change, code) => {
    const body = { ...openai(), provider_id: "openai_compatible", ...change };
    const answer = await tryOut(body);
    expect(answer).toMatchObject({ status: 200, json: { ok: false, error_code: code } });
    expect(answer.text).not.toContain(AI_KEY);
  });

  // Behind the proxy of several daemons it has another address.
  withOneDaemon("refuses the daemon itself as a provider", async () => {
    expect(await tryOut({ ...ollama(), base_url: daemon.url })).toMatchObject({
      json: { ok: false, error_code: "refused_address" },
    });
  });
});

describe("GET /api/admin/ai-config/models", () => {
  test("lists the models of a configured provider", async () => {
    await set(openai());
    const listed = await admin.request(`${PATH}/models?provider_id=openai`);
    expect(listed).toMatchObject({
      status: 200,
      json: { models: [{ id: "stand-in-0" }, { id: AI_MODEL }] },
    });
    const missing = await admin.request(`${PATH}/models?provider_id=anthropic`);
    expect(missing).toMatchObject({ status: 404 });
  });

  test("GET /api/admin/ai-config/models is 502 when the provider refuses the key, without its words", async () => {
    await set({ ...openai(), api_key: "wrong" });
    const answer = await admin.request(`${PATH}/models?provider_id=openai`);
    expect(answer).toMatchObject({ status: 502 });
    expect(answer.text).not.toContain(AI_KEY);
  });

  test("GET /api/admin/ai-config/models is 503 when the provider is away", async () => {
    await set({ ...ollama(), base_url: "http://127.0.0.1:9" });
    const answer = await admin.request(`${PATH}/models?provider_id=ollama`);
    expect(answer).toMatchObject({ status: 503 });
  });
});

describe("a document", () => {
  /** Uploads a document of a new account. Returns a function that reads it. */
  async function uploadBy(handle: string, topics: readonly string[], content: string) {
    const person = createPerson(daemon, handle, "198.51.100.7");
    await person.register();
    await person.signIn();
    for (const name of topics) await person.request("/api/topics", { json: { name } });
    const body = new FormData();
    body.set("file", new File([content], "note.txt"));
    const { id } = (await person.request("/api/documents/upload", { method: "POST", body })).json;
    return async () => (await person.request(`/api/documents/${id}`)).json;
  }

  async function classified(content: string) {
    const read = await uploadBy(`p-${content.length}`, ["Travel", "Taxes"], content);
    return vi.waitUntil(
      async () => {
        const json = await read();
        return json.status === "ready" ? json : undefined;
      },
      { timeout: 60_000, interval: 50 },
    );
  }

  test("a document is classified by the active provider", async () => {
    await set(openai());
    expect(await classified("We travel")).toMatchObject({
      topics: ["Travel"],
      classification: { topic: "Travel", confidence: 0.87, provider: "openai" },
    });
  });

  test("a document is classified by the built-in classifier when the provider fails, with the reason logged", async () => {
    await set(openai());
    server.behaviour = "unavailable";
    expect(await classified("All about taxes")).toMatchObject({
      classification: { topic: "Taxes", provider: "builtin", words: ["taxes"] },
    });
    expect(daemon.log).toContainEqual(
      expect.objectContaining({
        message: "classified without the AI provider",
        provider: "openai",
        reason: "provider_error",
      }),
    );
    expect(JSON.stringify(daemon.log)).not.toContain(AI_KEY);
  });

  test("a document waits for a provider that hangs, and those of other users do not wait behind it", async () => {
    await set(openai());
    server.behaviour = "hangs";
    const asked = server.questions.length;
    const readWaiting = await uploadBy("p-waits", ["Travel"], "We travel slowly");
    await vi.waitUntil(() => server.questions.length > asked, { timeout: 60_000, interval: 50 });
    const readOther = await uploadBy("p-other", [], "A note without topics");
    await vi.waitUntil(async () => (await readOther()).status === "ready", {
      timeout: 60_000,
      interval: 50,
    });
    expect(await readWaiting()).toMatchObject({ status: "processing", classification: null });
  });
});
