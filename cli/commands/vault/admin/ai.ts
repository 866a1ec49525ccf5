import { type Command, Option } from "commander";
import type { z } from "zod";
import type { aiConfig } from "../../../../daemon/contract/vault/ai-config.ts";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import type { Column } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";
import { readSecret } from "../../../support/secrets.ts";
import { type CommandModule, type Entry, verb } from "../../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("view", "Show the AI providers", () => viewAi),
  verb("set", "Configure an AI provider and make it the active one", () => setAi),
  verb("models", "List the models of an AI provider", () => listModels),
  verb("test", "Test an AI provider without storing anything", () => testAi),
];

const providerIds = ["openai", "anthropic", "ollama", "openai_compatible"] as const;
type ProviderId = (typeof providerIds)[number];

export const viewAi = {
  operations: [vault.viewAiConfig],
  output: resourceOf(vault.viewAiConfig),
  define(command, cli, run = runAiView): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the configured providers, without their keys. */
async function runAiView(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.viewAiConfig);
  await cli.output.resource(body, configColumns);
}

const configColumns: readonly Column<z.output<typeof aiConfig>>[] = [
  { header: "active", cell: ({ active_provider_id: id }) => id ?? "none: the built-in classifier" },
  {
    header: "configured",
    cell: ({ providers }) =>
      providers
        .filter((one) => one.is_configured)
        .map((one) =>
          [
            one.provider_id,
            one.model_name,
            one.base_url,
            one.has_api_key ? "with a key" : "without a key",
          ].join(" "),
        ),
  },
];

/** The settings of a provider that flags give. */
export interface ProviderFlags {
  readonly model?: string;
  readonly embeddingModel?: string;
  readonly embeddings?: false;
  readonly baseUrl?: string;
  readonly keyStdin?: true;
}

export interface AiSetOptions extends ProviderFlags {
  readonly provider: ProviderId;
  readonly active?: "true" | "false";
  readonly deleteKey?: true;
}

export const setAi = {
  operations: [vault.setAiConfig],
  output: resourceOf(vault.setAiConfig),
  define(command, cli, run = runAiSet): void {
    addProviderFlags(command)
      .option("--delete-key", "delete the stored API key")
      .addOption(
        new Option("--active <flag>", "false: documents are not sent to it")
          .choices(["true", "false"])
          .default("true"),
      )
      .action((provider: string, flags: Omit<AiSetOptions, "provider">) =>
        run(cli, { provider: toProviderId(provider), ...flags }),
      );
  },
} satisfies CommandModule;

/** Stores a provider and prints the configuration. */
async function runAiSet(cli: CliContext, options: AiSetOptions): Promise<void> {
  const { active, deleteKey } = options;
  if (deleteKey === true && options.keyStdin === true)
    throw usageError("give --key-stdin or --delete-key, not both");
  const body = {
    ...(await toProviderBody(cli, options)),
    ...(deleteKey === true ? { api_key: null } : {}),
    is_active: active !== "false",
  };
  const answer = await cli.client.call(vault.setAiConfig, { body });
  await cli.output.resource(answer.body, configColumns);
}

export const listModels = {
  operations: [vault.listAiModels],
  output: resourceOf(vault.listAiModels),
  define(command, cli, run = runAiModels): void {
    command
      .argument("<provider>", `one of ${providerIds.join(", ")}`)
      .action((provider: string) => run(cli, toProviderId(provider)));
  },
} satisfies CommandModule;

/** Prints the models that a configured provider offers. */
async function runAiModels(cli: CliContext, provider: ProviderId): Promise<void> {
  const { body } = await cli.client.call(vault.listAiModels, { query: { provider_id: provider } });
  await cli.output.resource(body, [
    { header: "models", cell: ({ models }) => models.map(({ id }) => id) },
  ]);
}

export interface AiTestOptions extends ProviderFlags {
  readonly provider: ProviderId;
}

export const testAi = {
  operations: [vault.testAiConnection],
  output: resourceOf(vault.testAiConnection),
  define(command, cli, run = runAiTest): void {
    addProviderFlags(command).action((provider: string, flags: ProviderFlags) =>
      run(cli, { provider: toProviderId(provider), ...flags }),
    );
  },
} satisfies CommandModule;

/**
 * Tests a configuration; absent flags have the stored values. The API answers 200 for an unusable provider; the
 * client reports it as a failure.
 */
async function runAiTest(cli: CliContext, options: AiTestOptions): Promise<void> {
  const { body } = await cli.client.call(vault.testAiConnection, {
    body: await toProviderBody(cli, options),
  });
  await cli.output.resource(body, [
    { header: "ok", cell: ({ ok }) => ok },
    { header: "message", cell: ({ message }) => message },
  ]);
}

function addProviderFlags(command: Command): Command {
  return command
    .argument("<provider>", `one of ${providerIds.join(", ")}`)
    .option("--model <name>", "the model that classifies documents")
    .option("--embedding-model <name>", "the model that makes embeddings")
    .option("--no-embeddings", "make no embeddings")
    .option("--base-url <address>", "the server's address, when it is not the provider's own")
    .option("--key-stdin", "read the API key from standard input");
}

async function toProviderBody(cli: CliContext, flags: AiTestOptions) {
  const { provider, model, embeddingModel, embeddings, baseUrl, keyStdin } = flags;
  const key =
    keyStdin === true
      ? await readSecret(cli, { fromInput: true, question: "API key:", flag: "--key-stdin" })
      : undefined;
  return {
    provider_id: provider,
    ...(key === undefined ? {} : { api_key: key.trim() }),
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    ...(model === undefined ? {} : { model_name: model }),
    ...(embeddingModel === undefined ? {} : { embedding_model_name: embeddingModel }),
    ...(embeddings === false ? { embedding_model_name: null } : {}),
  };
}

function toProviderId(word: string): ProviderId {
  const found = providerIds.find((id) => id === word);
  if (found === undefined)
    throw usageError(`there is no provider ${JSON.stringify(word)}`, providerIds.join(", "));
  return found;
}
