import { foldCommand } from "./examples.ts";
import { errorCodes, exitCodes } from "../exit-codes.ts";
import { toFieldNames } from "../output/schema.ts";
import {
  lineOf,
  listOwnFlags,
  type LoadedCommand,
  toFlagDescription,
  toFlagTerm,
} from "./command-tree.ts";
import type { Example } from "./entry.ts";

/** A command as `croft commands` and the reference pages show it. */
export interface CommandReference {
  readonly command: string;
  readonly summary: string;
  readonly usage: string;
  readonly aliases: readonly string[];
  readonly arguments: readonly { readonly name: string; readonly description: string }[];
  readonly flags: readonly { readonly name: string; readonly description: string }[];
  /** Names of the operations that it calls. */
  readonly operations: readonly string[];
  readonly examples: readonly { readonly description: string; readonly command: string }[];
}

/** Returns the reference entry of one command. */
export function toReference({
  line,
  summary,
  aliases,
  module,
  examples,
  command,
}: LoadedCommand): CommandReference {
  return {
    command: `croft ${line}`,
    summary,
    usage: `${lineOf(command)} ${command.usage()}`,
    aliases,
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
    })),
    flags: command.options
      .filter(({ hidden }) => !hidden)
      .map((option) => ({
        name: toFlagTerm(option.flags),
        description: toFlagDescription(option),
      })),
    operations: module.calls.map(({ name }) => name),
    examples: examples.map(([sentence, example]) => ({ description: sentence, command: example })),
  };
}

const mark =
  "<!-- Generated: run `npx vitest run --project cli test/cli/reference.test.ts -u` after a change. -->";

/** The reference page of the commands under one first word, as Markdown. */
export function toReferencePage(word: string, commands: readonly LoadedCommand[]): string {
  const sections = commands.map(toSection);
  return [`# croft ${word}`, mark, commonNote, ...sections].join("\n\n").concat("\n");
}

const commonNote =
  "Every command also takes the [common flags](common-flags.md); [output.md](output.md) describes the output.";

function toSection(loaded: LoadedCommand): string {
  const { summary, usage, aliases, arguments: words, operations } = toReference(loaded);
  const own = listOwnFlags(loaded.command);
  const fields = toFieldNames(loaded.module.output);
  const parts = [
    `## croft ${loaded.line}`,
    `${summary}.`,
    `    ${usage}`,
    ["```sh", ...loaded.examples.flatMap(toExampleLines), "```"].join("\n"),
    aliases.length === 0 ? "" : `Also: ${aliases.map((alias) => `\`${alias}\``).join(", ")}.`,
    words.map(({ name, description }) => `- \`${name}\`: ${description}`).join("\n"),
    own.map((option) => `- \`${option.flags}\`: ${toFlagDescription(option)}`).join("\n"),
    toKinds(loaded),
    fields.length === 0
      ? ""
      : `Fields of its JSON: ${fields.map((name) => `\`${name}\``).join(", ")}.`,
    operations.length === 0 ? "" : `Calls ${operations.map((name) => `\`${name}\``).join(", ")}.`,
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function toExampleLines([sentence, line]: Example): readonly string[] {
  return [`# ${sentence}`, ...foldCommand(line, 100)];
}

/** Describes the shared groups of flags that the command takes. */
function toKinds({ module, command }: LoadedCommand): string {
  const has = (flag: string) => command.options.some(({ long }) => long === flag);
  return [
    has("--all") ? "Prints a list: takes `--page`, `--limit`, `--all`, `--meta`." : "",
    has("--dry-run") ? "Takes `--dry-run`." : "",
    module.destructive === true ? "Asks first: takes `--yes` and `--confirm`." : "",
  ]
    .filter((text) => text !== "")
    .join(" ");
}

/** The page of the flags that commands have in common, from a command that has all of them. */
export function toCommonFlagsPage(all: LoadedCommand["command"]): string {
  const groups = Map.groupBy(all.options, (option) => option.helpGroupHeading ?? "");
  const sections = [...groups].map(([heading, options]) =>
    [
      `## ${heading.replace(/:$/, "")}`,
      "",
      ...options.map((option) => `- \`${toFlagTerm(option.flags)}\`: ${option.description}`),
    ].join("\n"),
  );
  const introduction =
    "Flags may come before, between and after the words of a command; `--` ends them. List flags belong to commands " +
    "that print a list, safety flags to commands that change or destroy something.";
  return ["# Common flags", mark, introduction, ...sections].join("\n\n").concat("\n");
}

/** The page of exit codes and error codes. */
export function toExitCodesPage(): string {
  const exits = Object.entries(exitCodes).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  const errors = Object.entries(errorCodes).map(
    ([code, { exit, meaning }]) => `| \`${code}\` | ${exit} | ${meaning} |`,
  );
  return [
    "# Exit codes",
    mark,
    "The code follows the outcome, not the HTTP status: a 200 answer that reports a conflict exits 7. `croft help exit-codes` prints these tables.",
    ["| Code | Meaning |", "| --- | --- |", ...exits].join("\n"),
    "## Error codes",
    "With `--json` and the other machine modes a failure is one line of JSON on standard error, and standard output stays empty. Its `error.code` is one of these; the list may grow, an entry never changes its meaning.",
    ["| Code | Exit code | Meaning |", "| --- | --- | --- |", ...errors].join("\n"),
  ]
    .join("\n\n")
    .concat("\n");
}
