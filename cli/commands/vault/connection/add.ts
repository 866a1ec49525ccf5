import { resolve } from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import type {
  createConnection as createConnectionEndpoint,
  listProviders as listProvidersEndpoint,
} from "../../../../daemon/contract/vault/cloud-connections.ts";
import type { provider } from "../../../../daemon/contract/vault/cloud-shapes.ts";
import { suggest } from "../../../../daemon/contract/suggest.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { readSecret } from "../../secret-input.ts";
import { connectionColumns } from "./connection-columns.ts";

const listProviders = operation<typeof listProvidersEndpoint>(
  "vault.cloud.providers.list",
  "GET",
  "/api/cloud/providers",
);
const createConnection = operation<typeof createConnectionEndpoint>(
  "vault.cloud.connections.create",
  "POST",
  "/api/cloud/connections",
);

export const operations = [listProviders, createConnection];
export const output = resourceOf(createConnection, 201);

type Provider = z.output<typeof provider>;

/** What the command was given. */
export interface ConnectionAddOptions {
  readonly provider: string;
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  /** The secret setting whose value is on standard input. */
  readonly credentialFromInput?: string;
}

interface Flags {
  readonly name: string;
  readonly setting?: Readonly<Record<string, string>>;
  readonly credentialStdin?: string;
}

export function define(command: Command, cli: CliContext, run = runConnectionAdd): void {
  command
    .argument("<provider>", "local_folder, webdav, nextcloud, s3 or another kind of storage")
    .requiredOption("--name <name>", "a name for the connection")
    .option("--setting <key=value>", "a setting of the provider; may be repeated", collectSetting)
    .option("--credential-stdin <key>", "read this secret setting from standard input")
    .action((given: string, { name, setting = {}, credentialStdin }: Flags) =>
      run(cli, {
        provider: given,
        name,
        settings: setting,
        ...(credentialStdin === undefined ? {} : { credentialFromInput: credentialStdin }),
      }),
    );
}

/** Connects a storage. The daemon looks at it before it keeps the connection. */
export async function runConnectionAdd(
  cli: CliContext,
  options: ConnectionAddOptions,
): Promise<void> {
  const found = await findProvider(cli, options.provider);
  const settings = await toSettings(cli, found, options.settings);
  const credentials = await toCredentials(cli, found, options.credentialFromInput);
  const { body } = await cli.client.call(createConnection, {
    body: { provider: found.type, display_name: options.name, settings, credentials },
  });
  await cli.output.resource(body, connectionColumns);
}

async function findProvider(cli: CliContext, type: string): Promise<Provider> {
  const { body } = await cli.client.call(listProviders);
  const found = body.items.find((one) => one.type === type);
  const types = body.items.map((one) => one.type);
  if (found === undefined)
    throw usageError(
      `there is no provider ${JSON.stringify(type)}${suggest(type, types)}`,
      `the providers are: ${types.join(", ")}`,
    );
  if (!found.available)
    throw new CliError("unsupported", `this server is not set up for ${found.title}`, {
      hint: `its administrator must set ${found.missing_settings.join(", ")}`,
    });
  if (found.sign_in === "oauth")
    throw new CliError("unsupported", `${found.title} is connected in a browser`);
  return found;
}

/** The open settings, as given; a missing required one is asked for. */
async function toSettings(
  cli: CliContext,
  { settings: declared, type }: Provider,
  given: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const open = declared.filter(({ secret }) => !secret);
  for (const key of Object.keys(given)) assertOpen(key, declared, type);
  const settings: Record<string, string> = { ...given };
  for (const { name, required, default: byDefault } of open)
    if (required && byDefault === null && settings[name] === undefined)
      settings[name] = await cli.prompts.text(`${name}:`, `--setting ${name}=VALUE`);
  const { isLoopback } = await cli.client.target();
  for (const { name, type: kind } of open) {
    const value = settings[name];
    // On this machine a path means what it means in the shell.
    if (isLoopback && kind === "path" && value !== undefined)
      settings[name] = resolve(cli.system.workingDirectory, value);
  }
  return settings;
}

function assertOpen(key: string, declared: Provider["settings"], type: string): void {
  const found = declared.find(({ name }) => name === key);
  if (found?.secret === true)
    throw usageError(
      `${key} is a secret`,
      `--credential-stdin ${key} reads it from standard input`,
    );
  if (found !== undefined) return;
  const names = declared.map(({ name }) => name);
  throw usageError(
    `${type} has no setting ${JSON.stringify(key)}${suggest(key, names)}`,
    `its settings are: ${names.join(", ")}`,
  );
}

/** The secret settings: one from standard input, others that are required from the person. */
async function toCredentials(
  cli: CliContext,
  { settings: declared, type }: Provider,
  fromInput: string | undefined,
): Promise<Record<string, string>> {
  const secrets = declared.filter(({ secret }) => secret);
  if (fromInput !== undefined && !secrets.some(({ name }) => name === fromInput))
    throw usageError(
      `${type} has no secret setting ${JSON.stringify(fromInput)}`,
      `its secret settings are: ${secrets.map(({ name }) => name).join(", ") || "none"}`,
    );
  const credentials: Record<string, string> = {};
  for (const { name, required } of secrets) {
    if (!required && name !== fromInput) continue;
    credentials[name] = await readSecret(cli, {
      fromInput: name === fromInput,
      question: `${name}:`,
      flag: `--credential-stdin ${name}`,
    });
  }
  return credentials;
}

function collectSetting(
  given: string,
  known: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = given.indexOf("=");
  if (at < 1) throw usageError(`--setting takes KEY=VALUE, not ${JSON.stringify(given)}`);
  return { ...known, [given.slice(0, at)]: given.slice(at + 1) };
}
