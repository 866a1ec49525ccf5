import { z } from "zod";
import { resource } from "./resource.ts";
import { vaultAdministrator } from "../endpoint.ts";
import { line, oneOf, time } from "./common.ts";

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

/** The AI configuration. */
export const aiConfigEndpoints = resource(
  {
    name: "vault.admin.ai",
    path: "/api/admin/ai-config",
    shape: aiConfig,
    gate: vaultAdministrator,
  },
  ({ get, operation }) => ({
    viewAiConfig: get("The AI providers and which one is active; API keys are never returned", {
      as: "view",
    }),
    setAiConfig: operation({
      as: "set",
      method: "PUT",
      summary:
        "Configure a provider and make it the active one, or inactive with is_active false; absent fields stay",
      body: z.object({ ...providerFields, is_active: z.boolean().default(true) }),
      replies: { 200: aiConfig },
    }),
    listAiModels: operation({
      method: "GET",
      at: "models",
      summary: "The models that a configured provider offers",
      query: z.object({ provider_id: oneOf(aiProviderIds) }),
      replies: { 200: z.object({ models: z.array(z.object({ id: z.string() })) }) },
      refuses: [404, 502, 503],
    }),
    testAiConnection: operation({
      as: "test",
      method: "POST",
      at: "test-connection",
      summary:
        "Try a configuration without storing it: lists the models and checks for the named ones",
      body: z.object(providerFields),
      replies: {
        200: z.object({
          ok: z.boolean(),
          error_code: z.enum(aiFailures).nullable(),
          message: z.string(),
        }),
      },
    }),
  }),
);

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return (
    /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === "")
  );
}
