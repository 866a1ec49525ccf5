import type { Option } from "commander";
import type { CliContext } from "../../context.ts";
import { createLeaf, defineCommand, findCommand } from "../../tree/command-tree.ts";
import type { CommandDefinition, CompletionKind, Entry, Noun, Verb } from "../../tree/entry.ts";
import { type Completion, completionOfArgument, completionOfFlag } from "./kinds.ts";

/** A value and its short description. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** A shell's request for what may follow at the end of a line. */
export interface Question {
  /** Words that begin with the typed text: commands, flags, or the few values of a flag. */
  readonly words: readonly Candidate[];
  /** The kind of values that may follow; undefined for none. */
  readonly kind: CompletionKind | undefined;
  /** Names of local files may follow. */
  readonly takesFiles: boolean;
  /** The typed part of the value. */
  readonly typed: string;
  /** What is typed before it in the same word: `--state=` of `--state=o`. */
  readonly stem: string;
  /** The arguments before it. */
  readonly args: readonly string[];
  /** Values of the flags before it, by their long names with dashes. */
  readonly flags: ReadonlyMap<string, string>;
}

/**
 * Reads the words of a line, without the program's name; the last one is being typed. Loads the files of the groups and of the
 * command on the line and no others. @throws CliError `unknown_command`
 */
export async function readQuestion(
  cli: CliContext,
  words: readonly string[],
  commands: readonly Entry[],
): Promise<Question> {
  const lastWord = words.at(-1) ?? "";
  // PowerShell cannot send an empty word.
  const typed = lastWord === '""' ? "" : lastWord;
  const { path, verb, rest } = await findCommand(words.slice(0, -1), commands);
  return verb === undefined
    ? readGroup(typed, rest, (await path.at(-1)?.load())?.entries ?? commands)
    : readCommand(cli, { path, verb, rest, typed });
}

/** Only the flag `--profile` has a value before the command is known. */
function readGroup(typed: string, rest: readonly string[], entries: readonly Entry[]): Question {
  const [stem, value] = splitFlag(typed);
  if (rest.at(-1) === "--profile") return ask({ completion: "profiles", typed });
  if (stem === "--profile=") return ask({ completion: "profiles", typed: value, stem });
  const words = entries
    .filter((entry) => entry.kind === "noun" || !entry.hidden)
    .map(({ name, summary }) => ({ value: name, description: summary }));
  return ask({ words, typed });
}

interface TypedCommand {
  readonly path: readonly Noun[];
  readonly verb: Verb;
  readonly rest: readonly string[];
  readonly typed: string;
}

async function readCommand(
  cli: CliContext,
  { path, verb, rest, typed }: TypedCommand,
): Promise<Question> {
  const module = await verb.load();
  const leaf = createLeaf(verb);
  defineCommand(leaf, module, cli);
  const line = [...path, verb].map(({ name }) => name).join(" ");
  const { args, flags, open, hasEnded } = readWords(rest, leaf.options);
  const before = { args, flags };
  if (open !== undefined) return ask({ ...before, ...valueOfFlag(line, module, open), typed });
  const [stem, value] = splitFlag(typed);
  const joined = leaf.options.find(({ long }) => stem === `${long}=`);
  if (!hasEnded && stem !== "")
    return joined === undefined || !takesValue(joined)
      ? ask({ typed })
      : ask({ ...before, ...valueOfFlag(line, module, joined), typed: value, stem });
  if (!hasEnded && typed.startsWith("-")) return ask({ words: listFlags(leaf.options), typed });
  const declared = leaf.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[args.length] ?? (last?.variadic === true ? last : undefined);
  if (argument === undefined) return ask({ typed });
  const name = argument.name();
  const completion = completionOfArgument(line, module, name);
  const takesFiles =
    completion === "transfers" ? !typed.includes(":") : isFile(name) && completion === undefined;
  return ask({ ...before, completion, takesFiles, typed });
}

function valueOfFlag(line: string, module: CommandDefinition, option: Option) {
  const completion = completionOfFlag(line, module, option);
  return { completion, takesFiles: completion === undefined };
}

const isFile = (argument: string) => /^(?:file|files|directory)$/.test(argument);

function listFlags(options: readonly Option[]): readonly Candidate[] {
  const shown = options.filter(({ hidden, long }) => !hidden && long !== undefined);
  const words = shown.map(({ long = "", description }) => ({ value: long, description }));
  return [...words, { value: "--help", description: "show this help" }];
}

/** Completes a question from what is known; few fixed values are words. */
function ask({
  completion,
  words = [],
  typed,
  ...known
}: Partial<Omit<Question, "kind">> & {
  readonly completion?: Completion | undefined;
  readonly typed: string;
}): Question {
  const isKind = typeof completion === "string";
  const fixed = isKind || completion === undefined ? [] : completion.map(toWord);
  return {
    words: [...words, ...fixed].filter(({ value }) => value.startsWith(typed)),
    kind: isKind ? completion : undefined,
    takesFiles: false,
    stem: "",
    args: [],
    flags: new Map(),
    typed,
    ...known,
  };
}

const toWord = (value: string): Candidate => ({ value, description: "" });

interface ReadWords {
  readonly args: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  /** The flag whose value comes next. */
  readonly open: Option | undefined;
  /** After `--` no word is a flag. */
  readonly hasEnded: boolean;
}

function readWords(words: readonly string[], options: readonly Option[]): ReadWords {
  const args: string[] = [];
  const flags = new Map<string, string>();
  let open: Option | undefined;
  for (const [index, word] of words.entries()) {
    if (open !== undefined) {
      flags.set(open.long ?? "", word);
      open = undefined;
    } else if (word === "--") {
      args.push(...words.slice(index + 1));
      return { args, flags, open, hasEnded: true };
    } else if (word.startsWith("-") && word !== "-") {
      const [name, value] = splitOnce(word, "=");
      const option = options.find(({ long, short }) => long === name || short === name);
      if (value !== undefined) flags.set(option?.long ?? name, value);
      else if (option !== undefined && takesValue(option)) open = option;
    } else args.push(word);
  }
  return { args, flags, open, hasEnded: false };
}

/** Whether the next word is the flag's value; the fields of `--json` follow after a `=`. */
function takesValue({ required, long }: Pick<Option, "required" | "long">): boolean {
  return required && long !== "--json";
}

/** Splits `--flag=value` behind the equals sign; any other word has no flag. */
function splitFlag(word: string): readonly [flag: string, value: string] {
  const [, flag = "", value = word] = /^(--[^=]+=)(.*)$/s.exec(word) ?? [];
  return [flag, value];
}

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
