import type { Command, Option } from "commander";
import { toChoice } from "./support/flag-values.ts";
import { usageError } from "./errors.ts";

/** The parsed values of the flags that every command takes, and of those that some kinds of commands take. */
export interface CommonFlags {
  /** `--json`: true, or the chosen fields. */
  readonly json: true | readonly string[] | undefined;
  readonly jq: string | undefined;
  readonly ndjson: boolean;
  readonly format: OutputFormat | undefined;
  readonly template: string | undefined;
  readonly meta: boolean;
  /** Lists: follow the pages. */
  readonly all: boolean;
  readonly page: number | undefined;
  readonly limit: number | undefined;
  /** False with `--no-input`. */
  readonly input: boolean;
  readonly yes: boolean;
  /** The typed name of the object to delete. */
  readonly confirm: string | undefined;
  readonly dryRun: boolean;
  readonly progress: ProgressMode | undefined;
  readonly quiet: boolean;
  /** False with `--no-color`. */
  readonly color: boolean;
  /** Bytes may go to a terminal, existing files may be replaced. */
  readonly force: boolean;
  readonly profile: string | undefined;
  readonly url: string | undefined;
  readonly home: string | undefined;
  readonly config: string | undefined;
  readonly credentialStore: string | undefined;
}

type OutputFormat = "json" | "csv" | "tsv" | "yaml";
export type ProgressMode = "bar" | "json" | "none";

/** The groups of flags that a command takes in addition to the common ones. */
interface FlagGroups {
  /** It prints a list of pages. */
  readonly list: boolean;
  /** It changes something. */
  readonly write: boolean;
  /** The command destroys something and asks for confirmation. */
  readonly destructive: boolean;
  /** It writes bytes to standard output or to files. */
  readonly bytes: boolean;
}

/** Flags of every command that take a value, for finding the command's words among them. */
export const valueFlags: ReadonlySet<string> = new Set([
  "--jq",
  "--format",
  "--template",
  "--progress",
  "--profile",
  "--url",
  "--home",
  "--config",
  "--credential-store",
]);

/**
 * Adds the common flags to a command that has its own. The help shows them in groups; the command's action is given its
 * own flags only, so that no common flag ends up in a request. `readCommonFlags` reads those.
 */
export function addCommonFlags(command: Command, groups: FlagGroups): void {
  const own = command.options.map((option) => option.attributeName());
  const readAll = command.opts.bind(command);
  const readOwn = () =>
    Object.fromEntries(Object.entries(readAll()).filter(([name]) => own.includes(name)));
  Object.assign(command, { opts: readOwn });
  if (groups.list) {
    command.optionsGroup("List flags:");
    command
      .option("--page <number>", "number of the page, from 1", toCount("--page"))
      .option("--limit <number>", "items per page", toCount("--limit"))
      .addOption(
        command
          .createOption("-L <number>", "gh's word for --limit")
          .argParser(toCount("-L"))
          .hideHelp(),
      )
      .option("--all", "follow the pages and print all items")
      .option("--meta", "print {items, page, limit, total, has_more} around the list");
  }
  if (groups.write || groups.destructive || groups.bytes) command.optionsGroup("Safety flags:");
  if (groups.write) command.option("--dry-run", "print the request or change without making it");
  if (groups.destructive) {
    command
      .option("--yes", "do not ask for confirmation")
      .option("--confirm <name>", "confirm with the name of the object");
  }
  if (groups.bytes && !own.includes("force")) command.option("--force", "send bytes to a terminal");
  command.optionsGroup("Output flags:");
  command
    .option("--json <fields>", "print JSON; =a,b only these fields, =? lists them")
    .option("--jq <expression>", "filter the JSON with a jq expression")
    .option("--ndjson", "print one JSON document a line")
    .option("--format <format>", "json, csv, tsv or yaml", toFormat)
    .option("--template <text>", "print text with {{.field}} filled in for each item")
    .option("--progress <mode>", "bar, json or none", toProgressMode)
    .option("-q, --quiet", "no notes and no progress on standard error")
    .option("--no-color", "no colours");
  command.optionsGroup("Common flags:");
  command
    .option("--no-input", "never prompt; fail and name the missing flag")
    .option("--profile <name>", "the profile to use")
    .option("--url <url>", "URL of the daemon")
    .option("--home <folder>", "one folder for configuration, data, state and cache")
    .option("--config <file>", "the config file")
    .option("--credential-store <store>", "where login keeps credentials: auto, keyring or file")
    .helpOption("-h, --help", "show this help");
}

/** Reads the common flags off a parsed command. A flag that the command does not take counts as absent. */
export function readCommonFlags(command: Pick<Command, "getOptionValue">): CommonFlags {
  const value = (name: string): unknown => command.getOptionValue(name);
  const text = (name: string) => value(name) as string | undefined;
  const isOn = (name: string) => value(name) === true;
  const flags: CommonFlags = {
    json: toJsonFields(text("json")),
    jq: text("jq"),
    ndjson: isOn("ndjson"),
    format: value("format") as OutputFormat | undefined,
    template: text("template"),
    meta: isOn("meta"),
    all: isOn("all"),
    page: value("page") as number | undefined,
    limit: (value("limit") ?? value("L")) as number | undefined,
    input: value("input") !== false,
    yes: isOn("yes"),
    confirm: text("confirm"),
    dryRun: isOn("dryRun"),
    progress: value("progress") as ProgressMode | undefined,
    quiet: isOn("quiet"),
    color: value("color") !== false,
    force: isOn("force"),
    profile: text("profile"),
    url: text("url"),
    home: text("home"),
    config: text("config"),
    credentialStore: text("credentialStore"),
  };
  assertOneMode(flags);
  return flags;
}

/** The flags before anything was parsed. */
export const noFlags: CommonFlags = readCommonFlags({ getOptionValue: () => undefined });

/** Whether the output is for a machine: no prompts, and errors as JSON. */
export function isMachineOutput(flags: CommonFlags): boolean {
  return (
    flags.json !== undefined ||
    flags.jq !== undefined ||
    flags.ndjson ||
    flags.format !== undefined ||
    flags.template !== undefined ||
    flags.meta
  );
}

/** Returns whether a line that could not be parsed requests machine output. */
export function asksForMachineOutput(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end < 0 ? argv : argv.slice(0, end)).some((word) =>
    /^--(json|jq|ndjson|format|template|meta)(=|$)/.test(word),
  );
}

/** The explicit value of `--json` without fields; see `markPlainJson`. */
const allFields = "*";

function toJsonFields(value: string | undefined): true | readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (value === allFields) return true;
  const fields = value.split(",").map((field) => field.trim());
  if (fields.some((field) => field === ""))
    throw usageError("--json=FIELDS takes field names separated by commas");
  return fields;
}

function assertOneMode(flags: CommonFlags): void {
  const modes = [
    flags.jq !== undefined && "--jq",
    flags.template !== undefined && "--template",
    flags.format !== undefined && flags.format !== "json" && "--format",
  ].filter((flag) => flag !== false);
  if (flags.ndjson && flags.format !== undefined) modes.push("--ndjson");
  if (modes.length > 1) throw usageError(`${modes.join(" and ")} exclude each other`);
  const itemwise = toItemwise(flags);
  if (flags.meta && itemwise !== undefined)
    throw usageError(`--meta and ${itemwise} exclude each other`);
  if (flags.page !== undefined && flags.all)
    throw usageError("--page and --all exclude each other");
}

/** Returns the flag that prints a list item by item, so that the list has no wrapper. */
function toItemwise({ ndjson, template, format }: CommonFlags): string | undefined {
  if (ndjson) return "--ndjson";
  if (template !== undefined) return "--template";
  return format === "csv" || format === "tsv" ? `--format ${format}` : undefined;
}

function toCount(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,9}$/.test(text) || value < 1)
      throw usageError(`${flag} takes a whole number from 1, not ${JSON.stringify(text)}`);
    return value;
  };
}

function toFormat(value: string): OutputFormat {
  return toChoice("--format", ["json", "csv", "tsv", "yaml"], value);
}

function toProgressMode(value: string): ProgressMode {
  return toChoice("--progress", ["bar", "json", "none"], value);
}

/**
 * Writes `--json` without fields as `--json=*`: commander would take the next argument as the value of the flag;
 * here only `--json=a,b` has a value. Values of other flags and everything after `--` stay as they are.
 * @throws CliError `usage` for fields in a word of their own
 */
export function markPlainJson(words: readonly string[], command: Command): readonly string[] {
  const marked: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--") return [...marked, ...words.slice(index)];
    if (word === "--json") {
      assertNoFields(words[index + 1]);
      marked.push(`--json=${allFields}`);
      continue;
    }
    marked.push(word);
    if (takesNextWord(word, command.options) && index + 1 < words.length)
      marked.push(words[++index] ?? "");
  }
  return marked;
}

/**
 * Refuses fields that follow `--json` as a word of their own, as gh takes them: they would count as an argument.
 * @throws CliError `usage` that says how they are written
 */
function assertNoFields(word = ""): void {
  if (/^[a-z]\w*(?:,[a-z]\w*)+$/i.test(word))
    throw usageError("the fields of --json follow an equals sign", `write: --json=${word}`);
}

function takesNextWord(word: string, options: readonly Option[]): boolean {
  return options.some(
    (option) => option.required && (option.long === word || option.short === word),
  );
}
