import type { Command, CommanderError, Option } from "commander";
import { suggest } from "../../daemon/settings/suggest.ts";
import { toChoiceMessage } from "../support/flag-values.ts";
import { completionOfFlag } from "../commands/completion/kinds.ts";
import { CliError } from "../errors.ts";
import { lineOf } from "./command-tree.ts";
import { separators } from "./folder-repository.ts";
import type { CommandDefinition } from "./entry.ts";

/**
 * Returns the failure of a line that commander could not parse. It names everything that is missing and the usage.
 * `prompted` are the flags that the command cannot prompt for now.
 */
export function toUsageFailure(
  error: CommanderError,
  leaf: Command,
  prompted: readonly string[] = [],
): CliError {
  const missing = [...findMissing(leaf), ...prompted.filter((flags) => isMissing(flags, leaf))];
  switch (error.code) {
    case "commander.missingArgument":
    case "commander.missingMandatoryOptionValue":
      return new CliError("missing_input", `${toList(missing)} missing`, {
        hint: toHint(leaf, findMistakenFlag(leaf)),
      });
    case "commander.excessArguments": {
      const most = leaf.registeredArguments.length;
      const takes = most === 0 ? "no arguments" : most === 1 ? "one argument" : `${most} arguments`;
      const typed = leaf.args.map((word) => JSON.stringify(word)).join(" ");
      const joined = toJoinedName(leaf);
      return new CliError("usage", `"${lineOf(leaf)}" takes ${takes}, not ${typed}`, {
        hint: joined === undefined ? toHint(leaf) : `write: ${lineOf(leaf)} ${joined}`,
      });
    }
    case "commander.unknownOption": {
      const flag = /'(.+)'/s.exec(error.message)?.[1] ?? "";
      return new CliError("usage", `unknown flag ${flag}${suggestFlag(flag, leaf)}`, {
        hint: toHint(leaf),
      });
    }
    default:
      return new CliError("usage", toMessage(error), { hint: toHint(leaf) });
  }
}

/** The line of a command with the flags that it requires: `croft vault share create <document> --to <handle> [flags]`. */
function toUsageLine(leaf: Command): string {
  const required = leaf.options.filter(({ mandatory }) => mandatory).map(toTyped);
  return `${lineOf(leaf)} ${leaf.usage().replace("[flags]", [...required, "[flags]"].join(" "))}`;
}

/**
 * Refuses values of flags that take fixed words only, before a request is sent.
 * @throws CliError `usage` that names the words and the nearest one, for each such flag
 */
export function assertKnownValues(leaf: Command, line: string, module: CommandDefinition): void {
  const mistakes = findUnknownValues(leaf, line, module);
  if (mistakes.length > 0) throw new CliError("usage", mistakes.join("; "));
}

/** A sentence for each flag whose value is not one of the words that it takes. */
export function findUnknownValues(
  leaf: Command,
  line: string,
  module: CommandDefinition,
): readonly string[] {
  return leaf.options.flatMap((option) => {
    const value: unknown = leaf.getOptionValue(option.attributeName());
    const choices = completionOfFlag(line, module, option);
    if (typeof value !== "string" || !Array.isArray(choices) || !isFromLine(leaf, option))
      return [];
    const words = choices as readonly string[];
    return words.includes(value)
      ? []
      : [toChoiceMessage(option.long ?? option.flags, words, value)];
  });
}

/** `--file <file>` of `-f, --file <file>`: one spelling, which can be typed. */
function toTyped({ flags, short, long }: Option): string {
  return short === undefined || long === undefined ? flags : flags.replace(`${short}, `, "");
}

/** `mira/notes#7` of `mira/notes 7`, for a command about one issue, run or job. */
function toJoinedName(leaf: Command): string | undefined {
  const [first, second] = leaf.registeredArguments;
  const separator = separators[first?.name() ?? ""];
  const [repository = "", number = "", ...rest] = leaf.args;
  return separator !== undefined &&
    second === undefined &&
    rest.length === 0 &&
    /^[\w.-]+\/[\w.-]+$/.test(repository) &&
    /^[1-9]\d*$/.test(number)
    ? `${repository}${separator}${number}`
    : undefined;
}

function isFromLine(leaf: Command, option: Option): boolean {
  return leaf.getOptionValueSource(option.attributeName()) === "cli";
}

function findMissing(leaf: Command): readonly string[] {
  const absent = leaf.registeredArguments.slice(leaf.args.length);
  const words = absent.filter(({ required }) => required).map((argument) => `<${argument.name()}>`);
  const flags = leaf.options
    .filter(
      (option) => option.mandatory && leaf.getOptionValue(option.attributeName()) === undefined,
    )
    .map(({ flags: shown }) => shown);
  return [...words, ...flags];
}

/** Whether a line has none of the flags of `--password-stdin or --random-password`. */
export function isMissing(flags: string, leaf: Command): boolean {
  const names = flags.split(" or ");
  return leaf.options
    .filter(({ long }) => names.includes(long ?? ""))
    .every((option) => !isFromLine(leaf, option));
}

/** `--url` names the daemon everywhere, but a command may have an argument `<url>` that a person tries to give by it. */
function findMistakenFlag(leaf: Command): string | undefined {
  return leaf.registeredArguments
    .map((argument) => argument.name())
    .find((name) => leaf.getOptionValueSource(name) === "cli");
}

function toHint(leaf: Command, mistaken?: string): string {
  const note = mistaken === undefined ? "" : `--${mistaken} is a flag of every command; `;
  return `${note}write: ${toUsageLine(leaf)}; see "${lineOf(leaf)} --help"`;
}

function suggestFlag(flag: string, leaf: Command): string {
  const [name = ""] = flag.split("=");
  const bare = name.replace(/^--?/, "");
  if (leaf.registeredArguments.some((argument) => argument.name() === bare))
    return `; <${bare}> is given without a flag`;
  const known = leaf.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []));
  return suggest(name, [...known, "--help"]);
}

function toList(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? `${last} is` : `${words.slice(0, -1).join(", ")} and ${last} are`;
}

function toMessage({ message }: CommanderError): string {
  return message
    .replace(/^error: /, "")
    .replaceAll(/\boption(?= ')/g, "flag")
    .replaceAll("\n(", " (")
    .replace(/^flag '(.*)' argument missing$/s, "$1 takes a value")
    .replace(
      /^flag '(.*)' argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s,
      (_, flag: string, value: string, choices: string) =>
        toChoiceMessage(flag, choices.split(", "), value),
    );
}
