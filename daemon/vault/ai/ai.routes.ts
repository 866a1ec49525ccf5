import type { BodyOf } from "../../contract/endpoint.ts";
import { aiConfigEndpoints } from "../../contract/vault/ai-config.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import { toConfigView } from "./ai.view.ts";
import type { AiConfig, ProviderChanges } from "./ai-config.service.ts";

/** Routes of `/api/admin/ai-config`. */
export const aiRoutes = (config: AiConfig): Route[] => [
  ...serve(aiConfigEndpoints, {
    viewAiConfig: async () => toConfigView(await config.list()),
    setAiConfig: async ({ caller, body }) => {
      const changes = { ...toChanges(body), isActive: body.is_active };
      return toConfigView(await config.set(caller, changes));
    },
    listAiModels: async ({ query }) => {
      const models = (await config.listModels(query.provider_id)).map((id) => ({ id }));
      return { models };
    },
    testAiConnection: async ({ body }) => {
      const result = await config.test(toChanges(body));
      return result.ok
        ? { ok: true, error_code: null, message: "The provider answers." }
        : { ok: false, error_code: result.code, message: result.message };
    },
  }),
];

function toChanges(body: BodyOf<typeof aiConfigEndpoints.testAiConnection>): ProviderChanges {
  return {
    providerId: body.provider_id,
    apiKey: body.api_key,
    baseUrl: body.base_url,
    modelName: body.model_name,
    embeddingModelName: body.embedding_model_name,
  };
}
