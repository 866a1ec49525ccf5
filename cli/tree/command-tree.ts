import { Command, type Option } from "commander";
import type { CliContext, CliRun } from "../context.ts";
import { examplesOf } from "./examples.ts";
import { addCommonFlags, valueFlags } from "../flags.ts";
import type { OutputSpec } from "../output/spec.ts";
import type { CommandDefinition, Entry, Example, Verb, Noun } from "./entry.ts";
import { addRepositoryFlag, takesFolder } from "./folder-repository.ts";
import { suggest } from "../../daemon/settings/suggest.ts";
import { CliError } from "../errors.ts";

/** The heading in the help of the flags that a command has for itself. */
const OWN_FLAGS = "Flags:";

/** Creates the root of the command tree. */
export function createRoot(cli: CliRun): Command {
  const { io } = cli;
  return new Command("croft")
    .description("A self-hosted forge and document vault: one daemon, one command line.")
    .usage("COMMAND [flags]")
    .exitOverride()
    .helpCommand(false)
    .optionsGroup(OWN_FLAGS)
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
      // Beside long flags a narrow column is easier to read than lines that the terminal breaks.
      minWidthToWrap: 30,
      commandUsage: (command) => `${lineOf(command)} ${command.usage()}`,
      optionTerm: ({ flags }) => toFlagTerm(flags),
      optionDescription: (option) => toFlagDescription(option),
    });
}

/** Creates a group with its name, for help pages. */
export function createGroup({ name, summary, aliases }: Entry): Command {
  return new Command(name)
    .description(summary)
    .aliases(aliases)
    .usage("COMMAND [flags]")
    .helpCommand(false)
    .optionsGroup(OWN_FLAGS)
    .helpOption("-h, --help", "show this help");
}

/** Creates a command without its arguments and flags. */
export function createLeaf({ name, summary, aliases }: Verb): Command {
  return new Command(name)
    .description(summary)
    .aliases(aliases)
    .helpCommand(false)
    .optionsGroup(OWN_FLAGS);
}

/**
 * Adds `child` to `parent`. Always use this, because commander's own `addCommand` does not inherit the handling of
 * errors and output.
 */
export function attach(parent: Command, child: Command): void {
  child.copyInheritedSettings(parent);
  parent.addCommand(child);
}

/** Adds everything that a command has: its own arguments and flags, then the common ones. */
export function defineCommand(command: Command, module: CommandDefinition, cli: CliContext): void {
  module.define(command, cli);
  if (command.usage().startsWith("[options]")) command.usage(toUsage(command));
  addCommonFlags(command, {
    list: isPaged(module.output),
    write: module.writes ?? module.calls.some(({ method }) => method !== "GET"),
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

/** Returns the flags of a command that are not the common ones. One of them may have the name of a common flag. */
export const listOwnFlags = ({ options }: Command): readonly Option[] =>
  options.filter(
    ({ long, hidden, helpGroupHeading }) =>
      !hidden && (helpGroupHeading === OWN_FLAGS || !isCommonFlag(long ?? "")),
  );

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

/** One command of the whole tree, loaded. */
export interface LoadedCommand {
  /** `admin user list`. */
  readonly line: string;
  readonly summary: string;
  readonly aliases: readonly string[];
  readonly hidden: boolean;
  readonly module: CommandDefinition;
  readonly examples: readonly Example[];
  /** With arguments and flags, for reading. */
  readonly command: Command;
}

/** Loads every command: for documents, completion and tests. */
export async function loadAllCommands(
  cli: CliRun,
  commands: readonly Entry[],
): Promise<readonly LoadedCommand[]> {
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
      const examples = examplesOf(module, text);
      loaded.push({ line: text, summary, aliases, hidden, module, examples, command });
    }
    return loaded;
  };
  return load(commands, createRoot(cli), []);
}

/** The command that a line names, and the remaining words in their order. */
interface FoundCommand {
  /** The groups on the way, outermost first. */
  readonly path: readonly Noun[];
  /** The command itself; undefined when the line stops at a group. */
  readonly verb: Verb | undefined;
  /** Arguments and flags, those before the command first. */
  readonly rest: readonly string[];
}

/**
 * Finds the command that `argv` names. Flags may appear before, between and after its words; `--` ends them.
 * @throws CliError `unknown_command`, with similar names.
 */
export async function findCommand(
  argv: readonly string[],
  topEntries: readonly Entry[],
): Promise<FoundCommand> {
  const rest: string[] = [];
  const path: Noun[] = [];
  let entries = topEntries;
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? "";
    if (word === "--") return { path, verb: undefined, rest: [...rest, ...argv.slice(index)] };
    if (word.startsWith("-") && word !== "-") {
      rest.push(word);
      // The next word is this flag's value.
      if (valueFlags.has(word) && index + 1 < argv.length) rest.push(argv[++index] ?? "");
      continue;
    }
    const entry = entries.find(({ name, aliases }) => name === word || aliases.includes(word));
    // A flag in front of its command: whether it takes a value is known only later.
    const isValue = argv[index - 1]?.startsWith("-") === true && rest.at(-1) === argv[index - 1];
    if (entry === undefined && isValue) {
      rest.push(word);
      continue;
    }
    if (entry === undefined) throw await unknownCommand(word, path, entries, topEntries);
    if (entry.kind === "verb")
      return { path, verb: entry, rest: [...rest, ...argv.slice(index + 1)] };
    path.push(entry);
    entries = (await entry.load()).entries;
  }
  return { path, verb: undefined, rest };
}

async function unknownCommand(
  word: string,
  path: readonly Noun[],
  entries: readonly Entry[],
  topEntries: readonly Entry[],
): Promise<CliError> {
  const line = ["croft", ...path.map(({ name }) => name)].join(" ");
  const names = entries
    .filter((entry) => entry.kind === "noun" || !entry.hidden)
    .flatMap(({ name, aliases }) => [name, ...aliases]);
  const near = suggest(word, names);
  const ending = [...path.slice(-1).map(({ name }) => name), word];
  const elsewhere = near === "" ? await findElsewhere(ending, topEntries) : [];
  const tried = path.length === 0 ? triedWords.get(word) : undefined;
  if (tried !== undefined)
    return new CliError(
      "unknown_command",
      `unknown command ${JSON.stringify(word)} for "${line}": ${tried}`,
      {
        hint: `"${line} --help" lists the commands`,
      },
    );
  const shown = elsewhere.slice(0, elsewhereShown).map((found) => `"croft ${found}"`);
  const meant = shown.length === 0 ? near : `; did you mean ${shown.join(" or ")}?`;
  return new CliError(
    "unknown_command",
    `unknown command ${JSON.stringify(word)} for "${line}"${meant}`,
    { hint: `"${line} --help" lists the commands` },
  );
}

const elsewhereShown = 3;

const pulls = '"croft pr" is about pull requests';

/** Words of other command lines, with what croft has in their place. */
const triedWords: ReadonlyMap<string, string> = new Map([
  ["prs", pulls],
  ["pull", pulls],
  ["pull-request", pulls],
  ["mr", pulls],
  ["releases", '"croft release" manages releases'],
  ["project", 'croft has no projects; "croft milestone" and "croft label" group issues'],
  ["gist", 'croft has no snippets; "croft repo create" makes a repository'],
  ["auth", '"croft login" signs in, "croft logout" signs out, "croft whoami" shows who you are'],
  ["document", '"croft vault document" is about documents'],
  ["documents", '"croft vault document" is about documents'],
  ["share", '"croft vault share" is about shares of documents'],
  ["file", '"croft vault item" is about connected storage, "croft vault document" about documents'],
  [
    "files",
    '"croft vault item" is about connected storage, "croft vault document" about documents',
  ],
  ["item", '"croft vault item" is about files of connected storage'],
  [
    "hook",
    '"croft repo hook", "croft org hook", "croft account hook" and "croft admin hook" are about hooks',
  ],
  [
    "webhook",
    '"croft repo hook", "croft org hook", "croft account hook" and "croft admin hook" are about hooks',
  ],
  ["package", '"croft admin package" is about packages'],
]);

/** Commands anywhere in the tree whose last words are `ending`. */
async function findElsewhere(
  ending: readonly string[],
  topEntries: readonly Entry[],
): Promise<readonly string[]> {
  const search = async (entries: readonly Entry[], above: readonly string[]): Promise<string[]> => {
    const found: string[] = [];
    for (const entry of entries) {
      if (entry.kind === "verb" && entry.hidden) continue;
      const words = [...above, entry.name];
      const isMeant =
        words.slice(-ending.length, -1).join(" ") === ending.slice(0, -1).join(" ") &&
        [entry.name, ...entry.aliases].includes(ending.at(-1) ?? "");
      if (isMeant) found.push(words.join(" "));
      if (entry.kind === "noun") found.push(...(await search((await entry.load()).entries, words)));
    }
    return found;
  };
  return search(topEntries, []);
}
