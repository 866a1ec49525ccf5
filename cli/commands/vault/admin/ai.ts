import type { z } from "zod";
import type { aiConfig } from "../../../../daemon/contract/vault/ai-config.ts";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import type { Column } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";
import { readSecret } from "../../../support/secrets.ts";
import type { Entry } from "../../../tree/entry.ts";
import { command, type OptionsOf } from "../../../tree/command.ts";

const providerIds = ["openai", "anthropic", "ollama", "openai_compatible"] as const;

const providerArgument = {
  "<provider>": { help: `one of ${providerIds.join(", ")}`, parse: toProviderId },
} as const;

const providerFlags = {
  "--model <name>": "the model that classifies documents",
  "--embedding-model <name>": "the model that makes embeddings",
  "--no-embeddings": "make no embeddings",
  "--base-url <address>": "the server's address, when it is not the provider's own",
  "--key-stdin": "read the API key from standard input",
} as const;

export const entries: readonly Entry[] = [
  command("view", "Show the AI providers", {
    calls: [vault.viewAiConfig],
    output: resourceOf(vault.viewAiConfig),
    examples: [
      ["Show the AI providers", "croft vault admin ai view"],
      ["Print them as JSON", "croft vault admin ai view --json"],
    ],
    /** Prints the configured providers, without their keys. */
    async run(cli) {
      const { body } = await cli.client.call(vault.viewAiConfig);
      await cli.output.resource(body, configColumns);
    },
  }),
  command("set", "Configure an AI provider and make it the active one", {
    args: providerArgument,
    flags: {
      ...providerFlags,
      "--delete-key": "delete the stored API key",
      "--active <flag>": {
        help: "false: documents are not sent to it",
        choices: ["true", "false"],
        default: "true",
      },
    },
    calls: [vault.setAiConfig],
    output: resourceOf(vault.setAiConfig),
    examples: [
      [
        "Use a model on this machine",
        "croft vault admin ai set ollama --model llama3.2 --base-url http://127.0.0.1:11434",
      ],
      [
        "Use OpenAI with a key from a file",
        "croft vault admin ai set openai --model gpt-5-mini --key-stdin < api-key.txt",
      ],
    ],
    /** Stores a provider and prints the configuration. */
    async run(cli, options) {
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
    },
  }),
  command("models", "List the models of an AI provider", {
    args: providerArgument,
    calls: [vault.listAiModels],
    output: resourceOf(vault.listAiModels),
    examples: [
      ["List the models of a provider", "croft vault admin ai models ollama"],
      ["Print their names", "croft vault admin ai models ollama --json"],
    ],
    /** Prints the models that a configured provider offers. */
    async run(cli, { provider }) {
      const { body } = await cli.client.call(vault.listAiModels, {
        query: { provider_id: provider },
      });
      await cli.output.resource(body, [
        { header: "models", cell: ({ models }) => models.map(({ id }) => id) },
      ]);
    },
  }),
  command("test", "Test an AI provider without storing anything", {
    args: providerArgument,
    flags: providerFlags,
    calls: [vault.testAiConnection],
    output: resourceOf(vault.testAiConnection),
    examples: [
      ["Test a provider", "croft vault admin ai test ollama --model llama3.2"],
      [
        "Test it at another address",
        "croft vault admin ai test ollama --model llama3.2 --base-url http://127.0.0.1:11434",
      ],
    ],
    /**
     * Tests a configuration; absent flags have the stored values. The API answers 200 for an unusable provider; the
     * client reports it as a failure.
     */
    async run(cli, options) {
      const { body } = await cli.client.call(vault.testAiConnection, {
        body: await toProviderBody(cli, options),
      });
      await cli.output.resource(body, [
        { header: "ok", cell: ({ ok }) => ok },
        { header: "message", cell: ({ message }) => message },
      ]);
    },
  }),
];

type ProviderId = (typeof providerIds)[number];

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

async function toProviderBody(
  cli: CliContext,
  flags: OptionsOf<typeof providerArgument, typeof providerFlags>,
) {
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
