import type { Option } from "commander";
import { type CliContext, createContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import { neverStopping } from "../../report.ts";
import { listGroups, loadAllCommands, type LoadedCommand } from "../../tree/command-tree.ts";
import { commandDetails } from "../../tree/command.ts";
import type { CommandModule, Entry, Example } from "../../tree/entry.ts";
import { completionOfArgument, completionOfFlag } from "./kinds.ts";
import { takesValue } from "./question.ts";

/** A word with its meaning. */
export interface Described {
  readonly word: string;
  readonly description: string;
}

/**
 * The completion of a value: `live` (values from croft), `transfers` (those and local files), `files`, `none` (free
 * text), or one of a few fixed words.
 */
type ValueKind = "live" | "transfers" | "files" | "none" | readonly string[];

export interface DescribedFlag extends Described {
  /** Its short form, such as `-m`. */
  readonly short: string | undefined;
  /** The completion of its value; undefined for a flag without a value. */
  readonly value: Exclude<ValueKind, "transfers" | "none"> | undefined;
}

/** The words that may follow one command path, such as `admin user`. */
export interface CompletionRow {
  readonly path: string;
  /** Groups and commands below it; empty for a command. */
  readonly words: readonly Described[];
  readonly flags: readonly DescribedFlag[];
  /** The completion of its arguments, in order. */
  readonly args: readonly Exclude<ValueKind, readonly string[]>[];
  /** The last argument may be repeated. */
  readonly isVariadic: boolean;
}

/** Returns both forms of all flags that take a value. */
export function listValueFlags(rows: readonly CompletionRow[]): readonly string[] {
  const forms = rows.flatMap(({ flags }) =>
    flags.flatMap(({ word, short, value }) =>
      value === undefined ? [] : [word, ...(short === undefined ? [] : [short])],
    ),
  );
  return [...new Set(forms)];
}

/** One kind of value, and the flags that take it as `PATH FLAG`, in both forms. */
export interface FlagGroup {
  readonly value: "live" | readonly string[];
  readonly flags: readonly string[];
}

/** Groups the flags by their values; those that take files are left out. */
export function groupFlags(rows: readonly CompletionRow[]): readonly FlagGroup[] {
  const groups = new Map<string, { value: FlagGroup["value"]; flags: string[] }>();
  for (const { path, flags } of rows)
    for (const { word, short, value } of flags) {
      if (value === undefined || value === "files") continue;
      const key = String(value);
      const group = groups.get(key) ?? { value, flags: [] };
      group.flags.push(`${path} ${word}`, ...(short === undefined ? [] : [`${path} ${short}`]));
      groups.set(key, group);
    }
  return [...groups.values()];
}

/** The whole tree as a table, for scripts that need no process to complete a word. */
export async function toCompletionTable(
  cli: CliContext,
  commands: readonly Entry[],
): Promise<readonly CompletionRow[]> {
  const loaded = await loadAllCommands(createContext(cli.system, neverStopping), commands);
  const visible = loaded.filter(({ hidden }) => !hidden);
  const groups = new Map<string, Described[]>([["", []]]);
  for (const { line, summary } of [...(await listGroups(commands)), ...visible])
    addWord(groups, line, summary);
  return [
    ...[...groups].map(([path, words]) => ({
      path,
      words,
      flags: [],
      args: [],
      isVariadic: false,
    })),
    ...visible.flatMap((one) => [one.line, ...aliasLines(one)].map((line) => toLeafRow(line, one))),
  ];
}

function addWord(groups: Map<string, Described[]>, line: string, description: string): void {
  const words = line.split(" ");
  const path = words.slice(0, -1).join(" ");
  groups.set(path, [...(groups.get(path) ?? []), { word: words.at(-1) ?? "", description }]);
}

/** Aliases of the last word. The shell completes what follows an alias, but not the alias itself. */
function aliasLines({ line, aliases }: LoadedCommand): string[] {
  return aliases.map((alias) => [...line.split(" ").slice(0, -1), alias].join(" "));
}

function toLeafRow(path: string, { line, module, command }: LoadedCommand): CompletionRow {
  const flags = command.options
    .filter((option) => !option.hidden && option.long !== undefined)
    .map((option) => toFlag(line, module, option));
  const help = { word: "--help", short: "-h", description: "show this help", value: undefined };
  return {
    path,
    words: [],
    flags: [...flags, help],
    args: command.registeredArguments.map((argument) =>
      toArgumentKind(line, module, argument.name()),
    ),
    isVariadic: command.registeredArguments.at(-1)?.variadic === true,
  };
}

function toFlag(line: string, module: CommandModule, option: Option): DescribedFlag {
  const { long = "", short, description } = option;
  const completion = completionOfFlag(line, module, option);
  const value =
    completion === undefined ? "files" : typeof completion === "string" ? "live" : completion;
  return { word: long, short, description, value: takesValue(option) ? value : undefined };
}

function toArgumentKind(line: string, module: CommandModule, name: string) {
  const completion = completionOfArgument(line, module, name);
  if (completion === "transfers") return "transfers";
  if (completion !== undefined) return "live";
  return /^(?:file|files|directory)$/.test(name) ? "files" : "none";
}

interface Script {
  readonly shell: string;
  /** How to load it. */
  readonly note: string;
  readonly examples: readonly Example[];
  /** Writes the script from the table of words. */
  readonly toScript: (rows: readonly CompletionRow[]) => string;
}

/** The command that prints the script of one shell. */
export function scriptCommand(
  commands: readonly Entry[],
  { shell, note, examples, toScript }: Script,
) {
  return commandDetails({
    note,
    output: shape({ shell: "string", script: "string" }),
    examples,
    async run(cli) {
      const script = toScript(await toCompletionTable(cli, commands));
      await cli.output.text(script, { shell, script });
    },
  });
}
