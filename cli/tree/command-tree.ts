import { Command, type Option } from "commander";
import { commands } from "../commands/root.ts";
import type { CliContext, CliRun } from "../context.ts";
import { type Example, loadExamples } from "../examples/examples.ts";
import { addCommonFlags } from "../flags.ts";
import type { OutputSpec } from "../output/spec.ts";
import type { CommandModule, Entry, Verb } from "./entry.ts";
import { addRepositoryFlag, takesFolder } from "./folder-repository.ts";

/** The top of every line. */
export function createRoot(cli: CliRun): Command {
  const { io } = cli;
  return new Command("croft")
    .description("A self-hosted forge and document vault: one daemon, one command line.")
    .usage("COMMAND [flags]")
    .exitOverride()
    .helpCommand(false)
    .optionsGroup("Flags:")
    .helpOption("-h, --help", "show this help")
    .option("--version", "print the version")
    .configureOutput({
      writeOut: (text) => cli.queue(text),
      // Failures are thrown, and printed in one place.
      writeErr: () => undefined,
      outputError: () => undefined,
      getOutHelpWidth: () => Math.min(io.isOutputTerminal ? io.columns : 80, 100),
      getErrHelpWidth: () => 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({
      commandUsage: (command) => `${lineOf(command)} ${command.usage()}`,
      optionTerm: ({ flags }) => toFlagTerm(flags),
      optionDescription: (option) => toFlagDescription(option),
    });
}

/** A group by its name, for help pages. */
export function createGroup({ name, summary, aliases }: Entry): Command {
  return new Command(name)
    .description(summary)
    .aliases(aliases)
    .usage("COMMAND [flags]")
    .helpCommand(false)
    .optionsGroup("Flags:")
    .helpOption("-h, --help", "show this help");
}

/** A command before its file has added anything. */
export function createLeaf({ name, summary, aliases }: Verb): Command {
  return new Command(name)
    .description(summary)
    .aliases(aliases)
    .helpCommand(false)
    .optionsGroup("Flags:");
}

/**
 * Puts `child` below `parent`: the only way to do it, because commander's own `addCommand` leaves out how errors
 * are thrown and where text is written.
 */
export function attach(parent: Command, child: Command): void {
  child.copyInheritedSettings(parent);
  parent.addCommand(child);
}

/** Adds everything that a command has: its own arguments and flags, then the common ones. */
export function defineCommand(command: Command, module: CommandModule, cli: CliContext): void {
  module.define(command, cli);
  if (command.usage().startsWith("[options]")) command.usage(toUsage(command));
  addCommonFlags(command, {
    list: isPaged(module.output),
    write: module.writes ?? module.operations.some(({ method }) => method !== "GET"),
    destructive: module.destructive === true,
    bytes: module.output.kind === "bytes",
  });
  addRepositoryFlag(command, lineOf(command));
}

function isPaged(output: OutputSpec): boolean {
  return output.kind === "reply" ? output.list : output.kind === "shape" && output.paged;
}

/** `--json` takes a value only after `=`, which commander does not support. */
export function toFlagTerm(flags: string): string {
  return flags.replace("--json <fields>", "--json[=fields]");
}

/** Describes a flag, with its values and whether it is required. */
export function toFlagDescription({ description, argChoices, mandatory }: Option): string {
  const notes = [mandatory ? "required" : "", argChoices?.join(", ") ?? ""];
  const noted = notes.filter((note) => note !== "").join("; ");
  return noted === "" ? description : `${description} (${noted})`;
}

function toUsage(command: Command): string {
  const mayLeaveOut = takesFolder(command, lineOf(command));
  const words = command.registeredArguments.map((argument, at) => {
    const name = argument.name() + (argument.variadic ? "..." : "");
    const isFolder = at === 0 && mayLeaveOut && ["repository", "place"].includes(name);
    return argument.required && !isFolder ? `<${name}>` : `[${name}]`;
  });
  return [...words, "[flags]"].join(" ");
}

/** Whether a word is one of the common flags. */
export function isCommonFlag(word: string): boolean {
  const probe = new Command();
  addCommonFlags(probe, { list: true, write: true, destructive: true, bytes: true });
  const [name = ""] = word.split("=");
  return probe.options.some((option) => option.long === name || option.short === name);
}

/** `croft admin user list`. */
export function lineOf(command: Command): string {
  const above = command.parent === null ? "" : `${lineOf(command.parent)} `;
  return above + command.name();
}

/** Every group with its line and summary, outermost first. */
export async function listGroups(
  entries: readonly Entry[] = commands,
  words: readonly string[] = [],
): Promise<readonly { readonly line: string; readonly summary: string }[]> {
  const found = await Promise.all(
    entries.map(async (entry) => {
      if (entry.kind === "verb") return [];
      const line = [...words, entry.name];
      return [
        { line: line.join(" "), summary: entry.summary },
        ...(await listGroups((await entry.load()).entries, line)),
      ];
    }),
  );
  return found.flat();
}

/** One command of the whole tree, loaded. */
export interface LoadedCommand {
  /** `admin user list`. */
  readonly line: string;
  readonly summary: string;
  readonly aliases: readonly string[];
  readonly hidden: boolean;
  readonly module: CommandModule;
  readonly examples: readonly Example[];
  /** With arguments and flags, for reading. */
  readonly command: Command;
}

/** Loads every command: for documents, completion and tests. */
export async function loadAllCommands(cli: CliRun): Promise<readonly LoadedCommand[]> {
  const examples = await loadExamples();
  const load = async (entries: readonly Entry[], parent: Command, words: readonly string[]) => {
    const loaded: LoadedCommand[] = [];
    for (const entry of entries) {
      const line = [...words, entry.name];
      if (entry.kind === "noun") {
        const group = createGroup(entry);
        attach(parent, group);
        loaded.push(...(await load((await entry.load()).entries, group, line)));
        continue;
      }
      const { summary, aliases, hidden } = entry;
      const module = await entry.load();
      const command = createLeaf(entry);
      attach(parent, command);
      defineCommand(command, module, cli);
      const text = line.join(" ");
      const found = examples[text] ?? [];
      loaded.push({ line: text, summary, aliases, hidden, module, examples: found, command });
    }
    return loaded;
  };
  return load(commands, createRoot(cli), []);
}
