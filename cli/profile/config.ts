// cli/profile: the client's settings, profiles and credential stores. Files are written atomically with mode 0600.
// Start here, then read profiles.ts (the data of each profile) and credentials.ts (the choice of the token for a
// request).
import { type SettingPaths, toAbsolutePath, toSettingPaths } from "../../daemon/settings/paths.ts";
import { type ConfigSystem, toPathEnvironment, readTextFile } from "./config-file.ts";
import type { CommonFlags } from "../flags.ts";
import { isSet } from "../io.ts";

/** The client's configuration from flags, environment and config file. */
export interface ClientConfig {
  readonly paths: SettingPaths;
  /** The daemon's address when a flag, the environment or the config file gives one, with which of them. */
  readonly url: string | undefined;
  readonly urlSource: "flag" | "environment" | "file" | undefined;
  /** The default address of the daemon. */
  readonly defaultUrl: string;
  readonly profile: string | undefined;
  readonly forgeToken: string | undefined;
  readonly vaultToken: string | undefined;
  readonly tokenCommand: string | undefined;
  readonly credentialStore: "auto" | "keyring" | "file";
  readonly noInput: boolean;
  /** Milliseconds from the start of the process in which values for completion are found. */
  readonly completionMs: number;
}

/**
 * Reads the client's settings. Without a config file and with only the client's own variables set, which is the
 * usual case, the declarations of all settings (and the validation library below them) are not loaded.
 * @throws CliError `invalid_config`, naming every mistake.
 */
export async function readClientConfig(
  system: ConfigSystem,
  flags: CommonFlags,
): Promise<ClientConfig> {
  return readLightConfig(system, flags) ?? (await readFullConfig(system, flags));
}

const clientVariables: ReadonlySet<string> = new Set([
  "CROFT_HOME",
  "CROFT_URL",
  "CROFT_PROFILE",
  "CROFT_FORGE_TOKEN",
  "CROFT_VAULT_TOKEN",
  "CROFT_TOKEN_COMMAND",
  "CROFT_CREDENTIAL_STORE",
  "CROFT_NO_INPUT",
  "CROFT_COMPLETION_MS",
  "CROFT_NODE",
  "CROFT_CACHE_DIR",
]);

/** Returns sentences about unknown `CROFT_` variables. Loads the declarations of settings only for other variables. */
export async function findVariableMistakes({
  env,
}: Pick<ConfigSystem, "env">): Promise<readonly string[]> {
  const isPlain = (name: string) => !/^CROFT_(?!TEST_)/.test(name) || clientVariables.has(name);
  if (Object.keys(env).every(isPlain)) return [];
  const { findUnknownVariables } = await import("../../daemon/settings/resolve.ts");
  return findUnknownVariables(env).map(({ message }) => message);
}

/**
 * Returns the same result as the full resolution, or undefined if it needs more than the client's own variables. The
 * full resolution then reports mistakes.
 */
function readLightConfig(system: ConfigSystem, flags: CommonFlags): ClientConfig | undefined {
  const { env } = system;
  for (const name of Object.keys(env))
    if (/^CROFT_(?!TEST_)/.test(name) && !clientVariables.has(name)) return undefined;
  if (flags.config !== undefined) return undefined;
  const environment = toPathEnvironment(system);
  const home = flags.home ?? unlessEmpty(env["CROFT_HOME"]);
  if (home === "" || home?.includes("\0") === true) return undefined;
  const paths = toSettingPaths(
    {
      home:
        home === undefined ? undefined : toAbsolutePath(home, system.workingDirectory, environment),
      config: undefined,
    },
    environment,
  );
  if (readTextFile(paths.configFile) !== undefined) return undefined;
  const url = flags.url ?? unlessEmpty(env["CROFT_URL"]);
  const store = flags.credentialStore ?? unlessEmpty(env["CROFT_CREDENTIAL_STORE"]) ?? "auto";
  const noInput = unlessEmpty(env["CROFT_NO_INPUT"]) ?? "false";
  const completion = unlessEmpty(env["CROFT_COMPLETION_MS"]) ?? "1000";
  const texts = [
    flags.profile ?? env["CROFT_PROFILE"],
    env["CROFT_FORGE_TOKEN"],
    env["CROFT_VAULT_TOKEN"],
    env["CROFT_TOKEN_COMMAND"],
  ];
  if (texts.some((text) => isSet(text) && !isOneLine(text))) return undefined;
  if (store !== "auto" && store !== "keyring" && store !== "file") return undefined;
  if (noInput !== "true" && noInput !== "false" && noInput !== "1" && noInput !== "0")
    return undefined;
  if (!/^\d{1,4}$/.test(completion)) return undefined;
  if (url !== undefined && !isPlainAddress(url)) return undefined;
  return {
    paths,
    url: url?.replace(/\/+$/, ""),
    urlSource: url === undefined ? undefined : flags.url === undefined ? "environment" : "flag",
    defaultUrl: "http://127.0.0.1:7420",
    profile: flags.profile ?? unlessEmpty(env["CROFT_PROFILE"]),
    forgeToken: unlessEmpty(env["CROFT_FORGE_TOKEN"]),
    vaultToken: unlessEmpty(env["CROFT_VAULT_TOKEN"]),
    tokenCommand: unlessEmpty(env["CROFT_TOKEN_COMMAND"]),
    credentialStore: store,
    noInput: noInput === "true" || noInput === "1",
    completionMs: Number(completion),
  };
}

async function readFullConfig(system: ConfigSystem, flags: CommonFlags): Promise<ClientConfig> {
  const { readAllSettings } = await import("./settings.ts");
  const { settings, values, paths } = readAllSettings(system, flags, {});
  const source = values.find(({ key }) => key === "url")?.source;
  return {
    paths,
    url: settings.url,
    urlSource:
      settings.url === undefined
        ? undefined
        : source === "flag" || source === "file"
          ? source
          : "environment",
    defaultUrl: toDefaultUrl(settings.host, settings.port),
    profile: settings.profile,
    forgeToken: settings.forgeToken,
    vaultToken: settings.vaultToken,
    tokenCommand: settings.tokenCommand,
    credentialStore: settings.credentialStore,
    noInput: settings.noInput,
    completionMs: settings.completionMs,
  };
}

/** A daemon that listens on all addresses is reached on loopback. */
function toDefaultUrl(host: string, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

function unlessEmpty(value: string | undefined): string | undefined {
  return isSet(value) ? value : undefined;
}

function isOneLine(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the pattern refuses control characters
  return text.trim() !== "" && !/[\u0000-\u001f\u007f]/.test(text);
}

function isPlainAddress(text: string): boolean {
  return /^https?:\/\/[a-z0-9.:[\]-]+\/*$/.test(text) && URL.parse(text) !== null;
}
