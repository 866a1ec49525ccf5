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
      // The next word is this flag's value and no command.
      if (valueFlags.has(word) && index + 1 < argv.length) rest.push(argv[++index] ?? "");
      continue;
    }
    const entry = entries.find(({ name, aliases }) => name === word || aliases.includes(word));
    // A flag of the command that precedes it: its value is not a command, and whether it takes a value is known later.
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
  const shown = elsewhere.slice(0, elsewhereShown).map((found) => `"croft ${found}"`);
  const meant = shown.length === 0 ? near : `; did you mean ${shown.join(" or ")}?`;
  return new CliError(
    "unknown_command",
    `unknown command ${JSON.stringify(word)} for "${line}"${meant}`,
    { hint: `"${line} --help" lists the commands` },
  );
}

const elsewhereShown = 3;

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
