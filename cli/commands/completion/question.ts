import type { Option } from "commander";
import type { CliContext } from "../../context.ts";
import { createLeaf, defineCommand, findCommand } from "../../tree/command-tree.ts";
import type { Entry } from "../../tree/entry.ts";
import { type Completion, completionOfArgument, completionOfFlag } from "./kinds.ts";

/** A shell's request for values that may follow at the end of a line. */
export interface Question {
  readonly completion: Completion;
  /** The typed part of the last word. */
  readonly typed: string;
  /** The arguments before it. */
  readonly args: readonly string[];
  /** Values of the flags before it, by their long names with dashes. */
  readonly flags: ReadonlyMap<string, string>;
}

/**
 * Reads the words of a line, without the program's name; the last one is being typed. Undefined where no values are
 * known. @throws CliError `unknown_command`
 */
export async function readQuestion(
  cli: CliContext,
  words: readonly string[],
  commands: readonly Entry[],
): Promise<Question | undefined> {
  const lastWord = words.at(-1) ?? "";
  // PowerShell cannot send an empty word.
  const typed = lastWord === '""' ? "" : lastWord;
  const { path, verb, rest } = await findCommand(words.slice(0, -1), commands);
  const profiles = { completion: "profiles", typed, args: [], flags: new Map() } as const;
  if (verb === undefined) return rest.at(-1) === "--profile" ? profiles : undefined;
  const module = await verb.load();
  const leaf = createLeaf(verb);
  defineCommand(leaf, module, cli);
  const line = [...path, verb].map(({ name }) => name).join(" ");
  const { args, flags, open } = readWords(rest, leaf.options);
  const declared = leaf.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[args.length] ?? (last?.variadic === true ? last : undefined);
  const completion =
    open !== undefined
      ? completionOfFlag(line, module, open)
      : argument === undefined
        ? undefined
        : completionOfArgument(line, module, argument.name());
  return completion === undefined ? undefined : { completion, typed, args, flags };
}

interface ReadWords {
  readonly args: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  /** The flag whose value comes next. */
  readonly open: Option | undefined;
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
      break;
    } else if (word.startsWith("-") && word !== "-") {
      const [name, value] = splitOnce(word, "=");
      const option = options.find(({ long, short }) => long === name || short === name);
      if (value !== undefined) flags.set(option?.long ?? name, value);
      else if (option !== undefined && takesValue(option)) open = option;
    } else args.push(word);
  }
  return { args, flags, open };
}

/** Whether the next word is the flag's value; the fields of `--json` follow after a `=`. */
export function takesValue({ required, long }: Pick<Option, "required" | "long">): boolean {
  return required && long !== "--json";
}

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
