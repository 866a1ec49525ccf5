import { z } from "zod";
import { endpoint, vaultAdministrator } from "../endpoint.ts";
import { detail, line, oneOf, time } from "./common.ts";

const refusals = { 401: detail, 403: detail, 422: detail } as const;

export const aiProviderIds = ["openai", "anthropic", "ollama", "openai_compatible"] as const;

/** One provider of the configuration. The API key is never returned. */
const aiProvider = z.object({
  provider_id: z.enum(aiProviderIds),
  is_configured: z.boolean(),
  is_active: z.boolean(),
  has_api_key: z.boolean(),
  base_url: z.string().nullable(),
  model_name: z.string().nullable(),
  embedding_model_name: z.string().nullable(),
  updated_at: time.nullable(),
});

export const aiConfig = z.object({
  active_provider_id: z.enum(aiProviderIds).nullable(),
  providers: z.array(aiProvider),
});

const modelName = line(200).refine((name) => name.trim() !== "", "A model needs a name");

const baseUrl = line(2048).refine(
  isBaseUrl,
  "Give an address of http or https without credentials, query and fragment",
);

const providerFields = {
  provider_id: oneOf(aiProviderIds),
  /** Absent: the stored key stays. Null: it is deleted. */
  api_key: z
    .string()
    .regex(/^[\u0021-\u007e]{1,4096}$/, "An API key is printable ASCII without spaces")
    .nullish(),
  base_url: baseUrl.optional(),
  model_name: modelName.optional(),
  embedding_model_name: modelName.nullish(),
};

export const viewAiConfig = endpoint({
  name: "vault.admin.ai.view",
  method: "GET",
  path: "/api/admin/ai-config",
  summary: "The AI providers and which one is active; API keys are never returned",
  gate: vaultAdministrator,
  replies: { 200: aiConfig, 401: detail, 403: detail },
});

export const setAiConfig = endpoint({
  name: "vault.admin.ai.set",
  method: "PUT",
  path: "/api/admin/ai-config",
  summary:
    "Configure a provider and make it the active one, or inactive with is_active false; absent fields stay",
  gate: vaultAdministrator,
  body: z.object({ ...providerFields, is_active: z.boolean().default(true) }),
  replies: { 200: aiConfig, ...refusals },
});

export const listAiModels = endpoint({
  name: "vault.admin.ai.models",
  method: "GET",
  path: "/api/admin/ai-config/models",
  summary: "The models that a configured provider offers",
  gate: vaultAdministrator,
  query: z.object({ provider_id: oneOf(aiProviderIds) }),
  replies: {
    200: z.object({ models: z.array(z.object({ id: z.string() })) }),
    ...refusals,
    404: detail,
    502: detail,
    503: detail,
  },
});

/** Why a provider cannot be used. */
export const aiFailures = [
  "refused_address",
  "unreachable",
  "timeout",
  "unauthorized",
  "rate_limited",
  "model_not_found",
  "too_large",
  "invalid_answer",
  "provider_error",
] as const;

export const testAiConnection = endpoint({
  name: "vault.admin.ai.test",
  method: "POST",
  path: "/api/admin/ai-config/test-connection",
  summary: "Try a configuration without storing it: lists the models and checks for the named ones",
  gate: vaultAdministrator,
  body: z.object(providerFields),
  replies: {
    200: z.object({
      ok: z.boolean(),
      error_code: z.enum(aiFailures).nullable(),
      message: z.string(),
    }),
    ...refusals,
  },
});

/** The AI configuration. */
export const aiConfigEndpoints = {
  viewAiConfig,
  setAiConfig,
  listAiModels,
  testAiConnection,
};

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return (
    /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === "")
  );
}
