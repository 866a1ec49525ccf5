import { suggest } from "../../../../daemon/settings/suggest.ts";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { wrapWords } from "../../../output/width.ts";
import {
  connectionColumns,
  readConnections,
  type WireConnection,
} from "../../../support/connection.ts";
import { createIfAbsent, ifAbsentFlag } from "../../../support/if-absent.ts";
import { readSecret } from "../../../support/secrets.ts";
import {
  askSetting,
  listMissing,
  type Provider,
  readOpenSettings,
  readSecrets,
} from "./ask-settings.ts";
import { signInAtProvider } from "./authorize.ts";
import { commandDetails, type FlagValues } from "../../../tree/command.ts";

const connectionFlags = {
  ...ifAbsentFlag,
  "--name <name>": "a name for the connection",
  "--setting <key=value>": {
    help: "a setting of the provider; may be repeated",
    parse: collectSetting,
  },
  "--credential-stdin <keys>": "read these secret settings from standard input, a line each",
} as const;

export const addConnection = commandDetails({
  args: {
    "[provider]":
      "local_folder, webdav, nextcloud, s3, google_drive, onedrive, dropbox; prompted for on a terminal when absent",
  },
  flags: connectionFlags,
  calls: [vault.listProviders, vault.listConnections, vault.createConnection, vault.authorize],
  output: resourceOf(vault.createConnection, 201),
  examples: [
    [
      "Connect a folder of the server",
      "croft vault connection add local_folder --name Papers --setting root=/srv/papers",
    ],
    [
      "Connect a WebDAV server",
      "croft vault connection add webdav --name Cloud --setting url=https://dav.example.org --setting username=mira --credential-stdin password < password.txt",
    ],
    [
      "In a script that may run again",
      "croft vault connection add local_folder --name Papers --setting root=/srv/papers --if-absent --jq .id",
    ],
  ],
  /**
   * Connects a storage. The daemon probes it before it stores the connection. On a terminal, a command without provider or
   * name starts a wizard, which prompts for every setting, and again for a wrong one.
   */
  async run(cli, { provider, ...flags }) {
    const { ifAbsent, name = "" } = flags;
    if (ifAbsent === true && (provider === undefined || flags.name === undefined))
      throw usageError("--if-absent takes PROVIDER and --name");
    const type = provider ?? "";
    const { value } = await createIfAbsent<WireConnection>(cli, {
      ifAbsent,
      title: `the connection ${JSON.stringify(name)}`,
      find: async () =>
        (await readConnections(cli)).find(({ display_name: shown }) => shown === name),
      create: () => addNew(cli, provider, flags),
      // The API does not return the settings of a connection.
      settings: (existing) => [{ flag: "PROVIDER", requested: type, existing: existing.provider }],
    });
    await cli.output.resource(value, connectionColumns);
  },
});

async function addNew(
  cli: CliContext,
  type: string | undefined,
  { name, setting: settings = {}, credentialStdin }: FlagValues<typeof connectionFlags>,
): Promise<WireConnection> {
  const nameFlag = { flag: "--name NAME", isMissing: name === undefined };
  if (type === undefined)
    await cli.prompts.require([{ flag: "PROVIDER", isMissing: true }, nameFlag]);
  const isWizard = type === undefined || name === undefined;
  const provider = await findProvider(cli, type);
  await cli.prompts.require([nameFlag, ...listMissing(provider, settings, credentialStdin)]);
  const displayName = name ?? (await cli.prompts.text("Name:", "--name", provider.title));
  if (provider.sign_in === "oauth") {
    return signInAtProvider(cli, {
      provider: provider.type,
      title: provider.title,
      for: { name: displayName },
    });
  }
  const body = {
    provider: provider.type,
    display_name: displayName,
    settings: await readOpenSettings(cli, provider, settings, isWizard),
    credentials: await readSecrets(cli, provider, credentialStdin),
  };
  return connect(cli, provider, body, isWizard);
}

interface ConnectBody {
  readonly provider: string;
  readonly display_name: string;
  readonly settings: Record<string, string>;
  readonly credentials: Record<string, string>;
}

/** Creates the connection. A wizard repeats the question for a setting that the server refuses. */
async function connect(
  cli: CliContext,
  provider: Provider,
  body: ConnectBody,
  isWizard: boolean,
): Promise<WireConnection> {
  for (;;) {
    let wrong: string | undefined;
    if (isWizard) cli.io.draw(`Checking ${provider.title}…`);
    try {
      const accept = ({ body: answer }: { readonly body: unknown }) => {
        wrong = wrongSettingOf(answer);
        return false;
      };
      return (await cli.client.call(vault.createConnection, { body }, { accept })).body;
    } catch (error) {
      const setting = provider.settings.find((one) => one.name === wrong);
      if (isWizard) cli.io.draw("");
      if (!isWizard || setting === undefined || !(error instanceof CliError)) throw error;
      const text = wrapWords(`${setting.name}: ${error.message}`, cli.io.columns);
      for (const line of text) cli.io.warn(line, cli.io.errorStyle.red);
      if (setting.secret)
        body.credentials[setting.name] = await readSecret(cli, {
          fromInput: false,
          question: `${setting.name}:`,
          flag: `--credential-stdin ${setting.name}`,
        });
      else body.settings[setting.name] = await askSetting(cli, setting);
    } finally {
      if (isWizard) cli.io.draw("");
    }
  }
}

/** Returns the setting that a refusal names: in its error code, or as the location of a failed validation. */
function wrongSettingOf(answer: unknown): string | undefined {
  const { setting, detail } = (answer ?? {}) as {
    readonly setting?: unknown;
    readonly detail?: unknown;
  };
  if (typeof setting === "string") return setting;
  const [problem] = Array.isArray(detail) ? (detail as readonly { readonly loc?: unknown }[]) : [];
  const name: unknown = Array.isArray(problem?.loc) ? problem.loc.at(-1) : undefined;
  return typeof name === "string" ? name : undefined;
}

/** Returns the provider of this type. Without a type, prompts for one of the server's providers. */
async function findProvider(cli: CliContext, requestedType: string | undefined): Promise<Provider> {
  const { body } = await cli.client.call(vault.listProviders, { query: { per_page: 100 } });
  const type = requestedType ?? (await chooseProvider(cli, body.items));
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
  return found;
}

function chooseProvider(cli: CliContext, providers: readonly Provider[]): Promise<string> {
  const choices = providers.map(({ type, title, available }) => ({
    value: type,
    name: title,
    ...(available ? {} : { disabled: "(not set up on this server)" }),
  }));
  return cli.prompts.choose("What do you want to connect?", choices, "PROVIDER");
}

function collectSetting(
  setting: string,
  previous: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = setting.indexOf("=");
  if (at < 1) throw usageError(`--setting takes KEY=VALUE, not ${JSON.stringify(setting)}`);
  return { ...previous, [setting.slice(0, at)]: setting.slice(at + 1) };
}
