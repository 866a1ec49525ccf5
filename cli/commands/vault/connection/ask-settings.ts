import { join, resolve } from "node:path";
import type { z } from "zod";
import type { provider } from "../../../../daemon/contract/vault/cloud/shapes.ts";
import { suggest } from "../../../../daemon/settings/suggest.ts";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { wrapWords } from "../../../output/width.ts";
import { readSecret, readSecretLines } from "../../../support/secrets.ts";

export type Provider = z.output<typeof provider>;

type Setting = Provider["settings"][number];

/** Reads the settings that are not secret. Prompts for missing required ones, in a wizard for all. */
export async function readOpenSettings(
  cli: CliContext,
  { settings: declared, type }: Provider,
  values: Readonly<Record<string, string>>,
  isWizard: boolean,
): Promise<Record<string, string>> {
  for (const key of Object.keys(values)) assertOpen(key, declared, type);
  const settings: Record<string, string> = { ...values };
  for (const setting of declared.filter(({ secret }) => !secret)) {
    const isNeeded = setting.required && setting.default === null;
    const known = settings[setting.name];
    if (known !== undefined) settings[setting.name] = await toSent(cli, setting, known);
    else if (isNeeded || isWizard) {
      const answer = await askSetting(cli, setting);
      if (answer !== "") settings[setting.name] = answer;
    }
  }
  return settings;
}

/**
 * Returns the flags of the required settings and which are missing. None are required for vendors with a sign-in
 * page.
 * @throws CliError `usage` for a given setting that the provider does not have
 */
export function listMissing(
  { settings, sign_in: signIn, type }: Provider,
  values: Readonly<Record<string, string>>,
  fromInput: string | undefined,
): readonly { readonly flag: string; readonly isMissing: boolean }[] {
  for (const key of Object.keys(values)) assertOpen(key, settings, type);
  if (signIn === "oauth") return [];
  const needed = settings.filter((one) => one.required && one.default === null);
  const read = fromInput?.split(",") ?? [];
  const secrets = needed.filter(({ secret }) => secret).map(({ name }) => name);
  return [
    ...needed
      .filter(({ secret }) => !secret)
      .map(({ name }) => ({ flag: `--setting ${name}=VALUE`, isMissing: !(name in values) })),
    {
      flag: `--credential-stdin ${secrets.join(",")}`,
      isMissing: secrets.some((name) => !read.includes(name)),
    },
  ];
}

/** Prompts for one setting and returns the value to send; empty for an optional one that is skipped. */
export async function askSetting(cli: CliContext, setting: Setting): Promise<string> {
  const { name, type, required, help, choices, default: byDefault } = setting;
  const flag = `--setting ${name}=VALUE`;
  for (const line of help === "" ? [] : wrapWords(help, cli.io.columns))
    cli.io.note(line, cli.io.errorStyle.dim);
  const question = required ? `${name}:` : `${name} (may be empty):`;
  const words = type === "switch" ? ["true", "false"] : choices;
  if (words !== null) {
    const none = required || byDefault !== null ? [] : [{ value: "", name: "(not set)" }];
    const options = [...none, ...words.map((value) => ({ value, name: toWord(type, value) }))];
    return cli.prompts.choose(question, options, flag, byDefault ?? undefined);
  }
  const answer =
    required && byDefault === null
      ? await cli.prompts.text(question, flag)
      : await cli.prompts.text(question, flag, byDefault ?? "");
  return toSent(cli, setting, answer);
}

/**
 * Reads the secret settings: those that `fromInput` names, separated by commas, from standard input, a line each;
 * other required ones from a prompt without echo.
 */
export async function readSecrets(
  cli: CliContext,
  { settings: declared, type }: Provider,
  fromInput: string | undefined,
): Promise<Record<string, string>> {
  const secrets = declared.filter(({ secret }) => secret);
  const keys = fromInput?.split(",") ?? [];
  const unknown = keys.find((key) => !secrets.some(({ name }) => name === key));
  if (unknown !== undefined)
    throw usageError(
      `${type} has no secret setting ${JSON.stringify(unknown)}`,
      `its secret settings are: ${secrets.map(({ name }) => name).join(", ") || "none"}`,
    );
  const credentials =
    keys.length === 0 ? {} : await readSecretLines(cli, keys, `--credential-stdin ${fromInput}`);
  for (const { name } of secrets.filter((one) => one.required && !keys.includes(one.name)))
    credentials[name] = await readSecret(cli, {
      fromInput: false,
      question: `${name}:`,
      flag: `--credential-stdin ${[...keys, name].join(",")}`,
    });
  return credentials;
}

/**
 * With a daemon on this machine, expands a path that begins with `~`, `./` or `..` as a shell does; shells expand no `~` after
 * a `=`. Any other path is sent unchanged: a name is a folder below the account's own folder, and `.` is that folder.
 */
async function toSent(cli: CliContext, { type }: Setting, value: string): Promise<string> {
  const [begin = ""] = value.split("/", 1);
  if (type !== "path" || value === "." || !["~", ".", ".."].includes(begin)) return value;
  const { isLoopback } = await cli.client.target();
  const { homeDirectory, workingDirectory } = cli.system;
  if (!isLoopback) return value;
  return begin === "~" ? join(homeDirectory, value.slice(1)) : resolve(workingDirectory, value);
}

function toWord(type: Setting["type"], value: string): string {
  if (type !== "switch") return value;
  return value === "true" ? "yes" : "no";
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
