import { expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const config = {
  active_provider_id: "openai",
  providers: [
    {
      provider_id: "openai",
      is_configured: true,
      is_active: true,
      has_api_key: true,
      base_url: "https://api.openai.com/v1",
      model_name: "gpt",
      embedding_model_name: null,
      updated_at: "2026-11-20T09:00:00.000Z",
    },
  ],
};

test("croft vault admin ai set sends the flags and the key from standard input", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ "PUT /api/admin/ai-config": { body: config } });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "admin", "ai", "set", "openai", "--model", "gpt", "--key-stdin"];
  const ran = await runCli([...line, "--no-embeddings", "--json"], {
    home: home.path,
    stdin: "sk-key\n",
  });
  expect(ran.json()).toEqual(config);
  expect(daemon.requests[0]?.json()).toEqual({
    provider_id: "openai",
    api_key: "sk-key",
    model_name: "gpt",
    embedding_model_name: null,
    is_active: true,
  });
});

test("croft vault admin ai models and test call their routes", async () => {
  await using home = await temporaryHome();
  const result = { ok: true, error_code: null, message: "The provider answers." };
  await using daemon = await fakeDaemon({
    "GET /api/admin/ai-config/models": { body: { models: [{ id: "gpt" }] } },
    "POST /api/admin/ai-config/test-connection": { body: result },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const models = await runCli(["vault", "admin", "ai", "models", "openai", "--json"], {
    home: home.path,
  });
  expect(models.json()).toEqual({ models: [{ id: "gpt" }] });
  const tried = await runCli(["vault", "admin", "ai", "test", "openai", "--json"], {
    home: home.path,
  });
  expect(tried.json()).toEqual(result);
});

test("croft vault admin ai test fails with the reason when the provider is unusable", async () => {
  await using home = await temporaryHome();
  const message = "The test failed: the provider refused the API key (401).";
  await using daemon = await fakeDaemon({
    "POST /api/admin/ai-config/test-connection": {
      body: { ok: false, error_code: "unauthorized", message },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "admin", "ai", "test", "openai"];
  const ran = await runCli([...line, "--json"], { home: home.path });
  expect(ran.code).toBe(11);
  expect(ran.error()).toMatchObject({
    code: "provider_failed",
    exit_code: 11,
    http_status: 200,
    reason: "unauthorized",
    message,
  });
  const shown = await runCli(line, { home: home.path });
  expect(shown).toMatchObject({ code: 11, out: "" });
  expect(shown.err).toContain(message);
  expect(shown.err).toContain("--key-stdin");
});

test("croft vault admin ai refuses an unknown provider", async () => {
  const ran = await runCli(["vault", "admin", "ai", "models", "skynet", "--json"], {
    home: "/nowhere",
  });
  expect(ran.error()).toMatchObject({ code: "usage" });
});
