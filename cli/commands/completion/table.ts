import type { Command } from "commander";
import { type CliContext, createContext } from "../../context.ts";
import { type OutputSpec, shape } from "../../output/spec.ts";
import { neverStopping } from "../../report.ts";
import { listGroups, loadAllCommands, type LoadedCommand } from "../../tree/command-tree.ts";
import type { CompletionKind } from "../../tree/entry.ts";

/** A word with what it means. */
export interface Described {
  readonly word: string;
  readonly description: string;
}

interface DescribedFlag extends Described {
  /** The next word is its value. */
  readonly takesValue: boolean;
}

/** What may follow one path of words, such as `admin user`. */
export interface CompletionRow {
  readonly path: string;
  /** Groups and commands below it; empty for a command. */
  readonly words: readonly Described[];
  readonly flags: readonly DescribedFlag[];
  /** What its arguments are; undefined for files. */
  readonly values: CompletionKind | undefined;
}

/** What follows flags with a fixed set of values. */
export const flagValues: Readonly<Record<string, readonly string[]>> = {
  "--format": ["json", "csv", "tsv", "yaml"],
  "--progress": ["bar", "json", "none"],
  "--credential-store": ["auto", "keyring", "file"],
  "--service": ["forge", "vault"],
  "--as": ["unread", "read", "pinned"],
};

/** Flags whose value is any text, or a local file for all that a shell knows. */
export function toFreeFlags(rows: readonly CompletionRow[]): readonly string[] {
  const free = rows
    .flatMap(({ flags }) => flags)
    .filter(({ word, takesValue }) => takesValue && flagValues[word] === undefined)
    .map(({ word }) => word);
  return [...new Set(free)].filter((word) => word !== "--profile");
}

/** The whole tree as a table, for scripts that need no process to complete a word. */
export async function toCompletionTable(cli: CliContext): Promise<readonly CompletionRow[]> {
  const loaded = await loadAllCommands(createContext(cli.system, neverStopping));
  const visible = loaded.filter(({ hidden }) => !hidden);
  const groups = new Map<string, Described[]>([["", []]]);
  for (const { line, summary } of [...(await listGroups()), ...visible])
    addWord(groups, line, summary);
  return [
    ...[...groups].map(([path, words]) => ({ path, words, flags: [], values: undefined })),
    ...visible.flatMap((one) => [one.line, ...aliasLines(one)].map((line) => toLeafRow(line, one))),
  ];
}

function addWord(groups: Map<string, Described[]>, line: string, description: string): void {
  const words = line.split(" ");
  const path = words.slice(0, -1).join(" ");
  groups.set(path, [...(groups.get(path) ?? []), { word: words.at(-1) ?? "", description }]);
}

/** Other spellings of the last word; they are completed after, and not themselves. */
function aliasLines({ line, aliases }: LoadedCommand): string[] {
  return aliases.map((alias) => [...line.split(" ").slice(0, -1), alias].join(" "));
}

function toLeafRow(line: string, { module, command }: LoadedCommand): CompletionRow {
  const flags = command.options
    .filter((option) => !option.hidden && option.long !== undefined)
    .map((option) => ({
      word: option.long ?? "",
      description: option.description,
      // The fields of `--json` follow after a `=`.
      takesValue: option.required && option.long !== "--json",
    }));
  const argument = command.registeredArguments[0]?.name();
  return {
    path: line,
    words: [],
    flags: [...flags, { word: "--help", description: "show this help", takesValue: false }],
    values: argument === undefined ? undefined : module.completions?.[argument],
  };
}

/** What each of the shells' commands prints in machine modes. */
export const scriptOutput: OutputSpec = shape({ shell: "string", script: "string" });

/** Defines the command of one shell. `toScript` writes its script from the table of words. */
export function defineScript(
  command: Command,
  cli: CliContext,
  shell: string,
  toScript: (rows: readonly CompletionRow[]) => string,
): void {
  command.action(async () => {
    const script = toScript(await toCompletionTable(cli));
    await cli.output.text(script, { shell, script });
  });
}
