import { z } from "zod";
import type { AiProviderId } from "../../../storage/tables/vault/ai-providers.ts";

/** A choice among numbered options. */
export interface ChoiceRequest {
  /** The instructions to the model; trusted. */
  readonly instruction: string;
  /** The material, as JSON; untrusted. */
  readonly material: string;
  /** Options are numbered from 1 to this; 0 means that no option fits. */
  readonly options: number;
}

export interface Choice {
  readonly option: number;
  /** From 0 to 1, as stated by the model. */
  readonly confidence: number;
}

/** How the HTTP API of a provider encodes the requests that croft sends. */
export interface ProviderApi {
  /** Undefined if an administrator must name the server. */
  readonly defaultBaseUrl: string | undefined;
  readonly needsApiKey: boolean;
  toHeaders(apiKey: string | undefined): Readonly<Record<string, string>>;
  readonly modelsPath: string;
  /** Reads the names out of a list of models. */
  readonly models: z.ZodType<readonly string[]>;
  readonly choicePath: string;
  toChoiceBody(model: string, request: ChoiceRequest): unknown;
  /** Reads the choice out of an answer. */
  readonly choice: z.ZodType<Choice>;
  /** Undefined where the provider offers no embeddings. */
  readonly embeddings?: {
    readonly path: string;
    toBody(model: string, texts: readonly string[]): unknown;
    /** Reads one vector for each text, in the order of the texts. */
    readonly vectors: z.ZodType<readonly (readonly number[])[]>;
  };
}

const choiceFields = z.object({ option: z.int(), confidence: z.number().min(0).max(1) });
/** Parses the answer of a model that was given a schema; any other text than JSON is invalid. */
const choiceText = z.string().transform((text, context) => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue("not JSON");
    return z.NEVER;
  }
});

const toSchema = ({ options }: ChoiceRequest) => ({
  type: "object",
  properties: {
    option: { type: "integer", enum: Array.from({ length: options + 1 }, (_, index) => index) },
    confidence: { type: "number" },
  },
  required: ["option", "confidence"],
  additionalProperties: false,
});

const toMessages = ({ instruction, material }: ChoiceRequest) => [
  { role: "system", content: instruction },
  { role: "user", content: material },
];

const toBearer = (apiKey: string | undefined): Record<string, string> =>
  apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` };

/** OpenAI's chat completions, which other servers offer too (platform.openai.com/docs/api-reference). */
const openai: ProviderApi = {
  defaultBaseUrl: "https://api.openai.com/v1",
  needsApiKey: true,
  toHeaders: toBearer,
  modelsPath: "/models",
  models: z
    .object({ data: z.array(z.object({ id: z.string() })) })
    .transform(({ data }) => data.map(({ id }) => id)),
  choicePath: "/chat/completions",
  toChoiceBody: (model, request) => ({
    model,
    messages: toMessages(request),
    response_format: {
      type: "json_schema",
      json_schema: { name: "choice", strict: true, schema: toSchema(request) },
    },
  }),
  choice: z
    .object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1) })
    .transform(({ choices }) => choices[0]?.message.content)
    .pipe(choiceText)
    .pipe(choiceFields),
  embeddings: {
    path: "/embeddings",
    toBody: (model, texts) => ({ model, input: texts, encoding_format: "float" }),
    vectors: z
      .object({ data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })) })
      .transform(({ data }, context) => {
        const sorted = data.toSorted((a, b) => a.index - b.index);
        if (sorted.every(({ index }, at) => index === at))
          return sorted.map(({ embedding }) => embedding);
        context.addIssue("not one vector for each text");
        return z.NEVER;
      }),
  },
};

/** Anthropic's messages with one tool that the model must call (docs.anthropic.com/en/api). */
const anthropic: ProviderApi = {
  defaultBaseUrl: "https://api.anthropic.com",
  needsApiKey: true,
  toHeaders: (apiKey) => ({
    "anthropic-version": "2023-06-01",
    ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
  }),
  modelsPath: "/v1/models?limit=1000",
  models: openai.models,
  choicePath: "/v1/messages",
  toChoiceBody: (model, request) => ({
    model,
    max_tokens: 256,
    system: request.instruction,
    messages: [{ role: "user", content: request.material }],
    tools: [
      { name: "choose", description: "Records the choice.", input_schema: toSchema(request) },
    ],
    tool_choice: { type: "tool", name: "choose" },
  }),
  choice: z
    .object({ content: z.array(z.object({ type: z.string(), input: z.unknown().optional() })) })
    .transform(({ content }) => content.find(({ type }) => type === "tool_use")?.input)
    .pipe(choiceFields),
};

/** Ollama's own API (docs.ollama.com/api). A key is for a proxy in front of it. */
const ollama: ProviderApi = {
  defaultBaseUrl: "http://127.0.0.1:11434",
  needsApiKey: false,
  toHeaders: toBearer,
  modelsPath: "/api/tags",
  models: z
    .object({ models: z.array(z.object({ name: z.string() })) })
    .transform(({ models }) => models.map(({ name }) => name)),
  choicePath: "/api/chat",
  toChoiceBody: (model, request) => ({
    model,
    messages: toMessages(request),
    stream: false,
    format: toSchema(request),
    options: { temperature: 0 },
  }),
  choice: z
    .object({ message: z.object({ content: z.string() }) })
    .transform(({ message }) => message.content)
    .pipe(choiceText)
    .pipe(choiceFields),
  embeddings: {
    path: "/api/embed",
    toBody: (model, texts) => ({ model, input: texts }),
    vectors: z
      .object({ embeddings: z.array(z.array(z.number())) })
      .transform(({ embeddings }) => embeddings),
  },
};

export const providerApis: Readonly<Record<AiProviderId, ProviderApi>> = {
  openai,
  anthropic,
  ollama,
  openai_compatible: { ...openai, defaultBaseUrl: undefined, needsApiKey: false },
};
