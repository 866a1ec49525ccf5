import { type Document, isMap, isScalar, isSeq, parseDocument, Scalar } from "yaml";
import { SettingsError } from "../../daemon/settings/resolve.ts";
import { listSettings, toKey } from "../../daemon/settings/settings.ts";
import { suggest } from "../../daemon/settings/suggest.ts";
import { filePaths } from "../../daemon/settings/types.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { isAmbiguousInYaml } from "../output/formats.ts";
import { readTextFile } from "./config-file.ts";
import { writePrivateFile } from "./private-files.ts";
import { readAllSettings, toYamlReason } from "./settings.ts";

/** The value that a line of `config set` gives. */
export async function toSettingValue(
  cli: CliContext,
  key: string,
  value: string | undefined,
  flags: { readonly stdin?: true },
): Promise<string> {
  const { stdin = false } = flags;
  if (stdin !== (value === undefined))
    throw usageError(
      `give a value for ${key}, or --stdin; "croft config unset ${key}" removes it`,
      `croft config set ${key} VALUE`,
    );
  return value ?? cli.io.readInput();
}

/** A value as the config file holds it. A text is what the command line or a variable would give. */
export type ConfigValue = string | number | boolean | readonly string[];

/**
 * Changes one setting of the config file while no other process does, and returns its printed form. With `--dry-run` nothing
 * is written. @throws CliError `invalid_config` when the result would be invalid, `not_found` for an unknown key to remove; nothing is
 * changed then
 */
export async function changeConfig(
  cli: CliContext,
  path: string,
  key: string,
  value: ConfigValue | undefined,
): Promise<unknown> {
  if (cli.flags.dryRun) return editConfig(cli, path, key, value).printed;
  const { withFileLock } = await import("./lock.ts");
  return withFileLock(`${path}.lock`, cli.system, async () => {
    const { text, printed } = editConfig(cli, path, key, value);
    await writePrivateFile(path, text);
    return printed;
  });
}

/**
 * Changes one setting in the text of the config file, validates the result, and returns it with the setting's printed
 * form.
 */
function editConfig(
  cli: CliContext,
  path: string,
  key: string,
  value: ConfigValue | undefined,
): { readonly text: string; readonly printed: unknown } {
  const document = parseDocument(readTextFile(path) ?? "");
  const [mistake] = document.errors;
  if (mistake !== undefined)
    throw new CliError("invalid_config", `${path} is not valid YAML: ${toYamlReason(mistake)}`, {
      hint: "mend it in an editor",
    });
  // An empty file has no keys to delete.
  if (value === undefined) {
    // A key that only the file has is removed: it makes the file invalid.
    if (document.contents === null || !document.has(key)) assertKnown(key);
    if (document.contents !== null) document.delete(key);
    if (isMap(document.contents) && document.contents.items.length === 0) document.contents = null;
  } else if (typeof value !== "string") document.set(key, document.createNode(value));
  // A list stays a list; "none" is the word for an empty one.
  else if (isSeq(document.get(key, true)) && value !== "none")
    document.set(key, document.createNode(value.split(separatorOf(cli, key))));
  else setText(document, key, value);
  const read = () => {
    const text = document.contents === null ? "" : document.toString({ lineWidth: 0 });
    const { values } = readAllSettings(
      { ...cli.system, env: withoutSettings(cli) },
      cli.flags,
      {},
      text,
    );
    return { text, printed: values.find((one) => one.key === key)?.value ?? null };
  };
  const { text, printed } = orRefused(read, path, key);
  if (value === undefined) return { text, printed: null };
  if (typeof value !== "string") return { text, printed };
  // Numbers and booleans are written without quotes.
  if (typeof printed !== "string" && String(printed) === value) document.set(key, printed);
  return read();
}

/** Refuses with `not_found` a key that is no setting. */
function assertKnown(key: string): void {
  const keys = listSettings().map(([name]) => toKey(name));
  if (!keys.includes(key)) throw unknownSetting(key, keys);
}

/** The refusal of a key that is no setting; it names the nearest one. */
export const unknownSetting = (key: string, keys: readonly string[]): CliError =>
  new CliError("not_found", `there is no setting ${JSON.stringify(key)}${suggest(key, keys)}`, {
    hint: '"croft config list" shows all of them',
  });

/** The separator of a list in one text: that of `PATH` for paths, else a comma. */
function separatorOf({ system }: CliContext, key: string): string {
  const [, declared] = listSettings().find(([name]) => toKey(name) === key) ?? [];
  if (declared?.type !== filePaths) return ",";
  return system.platform === "win32" ? ";" : ":";
}

/** Sets a text and keeps its comment; quoted where another reader of the file would take it for something else. */
function setText(document: Document, key: string, text: string): void {
  if (!isScalar(document.get(key, true))) document.set(key, document.createNode(text));
  const node = document.get(key, true);
  if (!isScalar(node)) return;
  node.value = text;
  node.type = isAmbiguousInYaml(text) ? Scalar.QUOTE_DOUBLE : Scalar.PLAIN;
}

/** Reports an invalid new value as an error of the command line, because it is not in the file. */
function orRefused<Result>(read: () => Result, path: string, key: string): Result {
  try {
    return read();
  } catch (error) {
    const cause = error instanceof CliError ? error.details.cause : undefined;
    const found = cause instanceof SettingsError ? cause.problems : [];
    const own = found.filter((problem) => problem.key === key && problem.origin === path);
    if (own.length === 0) throw error;
    const message = own.map((problem) => problem.message.replace(` in ${path}`, "")).join("\n");
    throw new CliError("invalid_config", message, {
      hint: '"croft config list" shows all settings; nothing was changed',
      cause: error,
    });
  }
}

/** Returns the environment without settings, so that no variable hides an invalid value of the file. */
function withoutSettings(cli: CliContext): Readonly<Record<string, string | undefined>> {
  const places: ReadonlySet<string> = new Set(["CROFT_HOME", "CROFT_CONFIG"]);
  return Object.fromEntries(
    Object.entries(cli.system.env).filter(
      ([name]) => !name.startsWith("CROFT_") || places.has(name),
    ),
  );
}
