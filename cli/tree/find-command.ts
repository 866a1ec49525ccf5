import { suggest } from "../../daemon/settings/suggest.ts";
import { CliError } from "../errors.ts";
import { valueFlags } from "../flags.ts";
import type { Entry, Noun, Verb } from "./entry.ts";

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
 * Finds the command that `argv` names. Flags may stand before, between and after its words; `--` ends them.
 * @throws CliError `unknown_command`, with what comes near.
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
      // The next word is this flag's value and no command.
      if (valueFlags.has(word) && index + 1 < argv.length) rest.push(argv[++index] ?? "");
      continue;
    }
    const entry = entries.find(({ name, aliases }) => name === word || aliases.includes(word));
    // A flag of the command that stands before it: its value is not a command, and whether it has one is known later.
    const isValue = argv[index - 1]?.startsWith("-") === true && rest.at(-1) === argv[index - 1];
    if (entry === undefined && isValue) {
      rest.push(word);
      continue;
    }
    if (entry === undefined) throw unknownCommand(word, path, entries);
    if (entry.kind === "verb")
      return { path, verb: entry, rest: [...rest, ...argv.slice(index + 1)] };
    path.push(entry);
    entries = (await entry.load()).entries;
  }
  return { path, verb: undefined, rest };
}

function unknownCommand(word: string, path: readonly Noun[], entries: readonly Entry[]): CliError {
  const line = ["croft", ...path.map(({ name }) => name)].join(" ");
  const names = entries
    .filter((entry) => entry.kind === "noun" || !entry.hidden)
    .map(({ name }) => name);
  const near = suggest(word, names);
  return new CliError(
    "unknown_command",
    `unknown command ${JSON.stringify(word)} for "${line}"${near}`,
    {
      hint: `"${line} --help" lists the commands`,
    },
  );
}
