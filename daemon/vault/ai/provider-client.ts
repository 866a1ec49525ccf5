import type { z } from "zod";
import type { AiProviderId } from "../../../storage/tables/vault/ai-providers.ts";
import { retryAfterSeconds } from "../../../storage/cloud/transport.ts";
import type { aiFailures } from "../../contract/vault/ai-config.ts";
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import { type Choice, type ChoiceRequest, providerApis } from "./provider-apis.ts";

/** The address and settings of a provider. */
export interface AiProvider {
  readonly providerId: AiProviderId;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly modelName: string;
}

export type AiFailure = (typeof aiFailures)[number];

/** The answer of a provider, or the failure, which never contains a provider's own text. */
export type AiOutcome<T> =
  | { readonly kind: "answered"; readonly value: T }
  | {
      readonly kind: "failed";
      readonly code: AiFailure;
      readonly message: string;
      /** The pause that the provider requested, by `Retry-After`. */
      readonly retryAfterMs: number | undefined;
    };

export type AiClient = ReturnType<typeof createAiClient>;

export interface AiClientOptions {
  readonly listTimeoutMs: number;
  /** A model on a small machine needs most of a minute. */
  readonly chooseTimeoutMs: number;
  /** Absent: 30 seconds. */
  readonly embedTimeoutMs?: number;
}

const EMBED_TIMEOUT_MS = 30_000;

/** Larger answers are refused: a choice has a hundred bytes, the longest lists of models have some hundred KiB. */
const RESPONSE_BYTES_MAX = 2 * 1024 * 1024;

export interface AiClientDeps {
  readonly request: GuardedRequest;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Sends requests to AI providers within the address policy. Never throws. */
export function createAiClient(
  { request, clock }: AiClientDeps,
  { listTimeoutMs, chooseTimeoutMs, embedTimeoutMs = EMBED_TIMEOUT_MS }: AiClientOptions = {
    listTimeoutMs: 15_000,
    chooseTimeoutMs: 60_000,
  },
) {
  return {
    /** Returns the names of the models that a provider offers. */
    listModels(
      provider: Omit<AiProvider, "modelName">,
      signal?: AbortSignal,
    ): Promise<AiOutcome<readonly string[]>> {
      const api = providerApis[provider.providerId];
      const path = api.modelsPath;
      return send(provider, { path, body: undefined, timeoutMs: listTimeoutMs, signal }, (body) =>
        parse(api.models, body),
      );
    },

    /** Asks the model to choose one of the numbered options. The answer is unvalidated. */
    choose(
      provider: AiProvider,
      request: ChoiceRequest,
      signal?: AbortSignal,
    ): Promise<AiOutcome<Choice>> {
      const api = providerApis[provider.providerId];
      const body = JSON.stringify(api.toChoiceBody(provider.modelName, request));
      const path = api.choicePath;
      return send(provider, { path, body, timeoutMs: chooseTimeoutMs, signal }, (answer) =>
        parse(api.choice, answer),
      );
    },

    /**
     * Returns the embeddings of texts by the model `modelName`. The vectors are unvalidated. Fails with `invalid_answer`
     * for a provider without embeddings.
     */
    async embed(
      provider: AiProvider,
      texts: readonly string[],
      signal?: AbortSignal,
    ): Promise<AiOutcome<readonly (readonly number[])[]>> {
      const { embeddings } = providerApis[provider.providerId];
      if (embeddings === undefined)
        return fail("invalid_answer", "the provider offers no embeddings");
      const body = JSON.stringify(embeddings.toBody(provider.modelName, texts));
      const { path } = embeddings;
      return send(provider, { path, body, timeoutMs: embedTimeoutMs, signal }, (answer) =>
        parse(embeddings.vectors, answer),
      );
    },
  };

  async function send<T>(
    { providerId, baseUrl, apiKey }: Omit<AiProvider, "modelName">,
    call: {
      readonly path: string;
      readonly body: string | undefined;
      readonly timeoutMs: number;
      readonly signal: AbortSignal | undefined;
    },
    read: (body: unknown) => T | undefined,
  ): Promise<AiOutcome<T>> {
    const headers = providerApis[providerId].toHeaders(apiKey);
    const outcome = await request({
      url: `${baseUrl.replace(/\/+$/, "")}${call.path}`,
      method: call.body === undefined ? "GET" : "POST",
      headers: {
        ...headers,
        Accept: "application/json",
        "User-Agent": "croft",
        ...(call.body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: call.body ?? "",
      privateHeaders: Object.keys(headers).map((name) => name.toLowerCase()),
      timeoutMs: call.timeoutMs,
      responseBytesMax: RESPONSE_BYTES_MAX,
      // Texts and keys are for the server that an administrator named.
      followsRedirects: false,
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    if (outcome.kind === "refused") return fail("refused_address", outcome.reason);
    if (outcome.kind === "failed")
      return fail(
        outcome.reason.startsWith("no answer within") ? "timeout" : "unreachable",
        outcome.reason,
      );
    const { status } = outcome;
    if (status >= 300 && status <= 399)
      return fail(
        "provider_error",
        `the provider redirects to another address (${status}); give that one as base_url`,
      );
    if (status === 401 || status === 403)
      return fail("unauthorized", `the provider refused the API key (${status})`);
    if (status === 429)
      return fail(
        "rate_limited",
        "the provider has a limit that is used up (429)",
        waitOf(outcome),
      );
    if (status === 404)
      return fail("model_not_found", "the provider knows no such model or address (404)");
    if (status < 200 || status > 299)
      return fail("provider_error", `the provider answered with status ${status}`, waitOf(outcome));
    if (outcome.isCut) return fail("too_large", "the answer is larger than 2 MiB");
    const value = read(parseJson(outcome.body));
    return value === undefined
      ? fail("invalid_answer", "the answer does not have the documented form")
      : { kind: "answered", value };
  }

  function waitOf({ headers }: { readonly headers: Readonly<Record<string, string>> }) {
    const seconds = retryAfterSeconds(headers, clock());
    return seconds === undefined ? undefined : seconds * 1000;
  }
}

function fail(code: AiFailure, message: string, retryAfterMs?: number): AiOutcome<never> {
  return { kind: "failed", code, message, retryAfterMs };
}

function parse<T>(schema: z.ZodType<T>, body: unknown): T | undefined {
  const parsed = schema.safeParse(body);
  return parsed.success ? parsed.data : undefined;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}
