import { Help } from "commander";
import { foldCommand } from "./examples.ts";
import { errorCodes, exitCodes } from "../exit-codes.ts";
import { lineOf, listOwnFlags, type LoadedCommand, toFlagDescription } from "./command-tree.ts";

/** A manual page and the name of its file. */
export interface ManPage {
  readonly fileName: string;
  readonly text: string;
}

/** `croft.1`, and one page for each first word of the command tree, in the man macros that groff and mandoc read. */
export function toManPages(
  commands: readonly LoadedCommand[],
  version: string,
): readonly ManPage[] {
  const visible = commands.filter(({ hidden }) => !hidden);
  const byWord = Map.groupBy(visible, ({ line }) => line.split(" ")[0] ?? "");
  return [
    { fileName: "croft.1", text: toOverview(visible, [...byWord.keys()], version) },
    ...[...byWord].map(([word, below]) => ({
      fileName: `croft-${word}.1`,
      text: toPage(word, below, version),
    })),
  ];
}

function toOverview(
  commands: readonly LoadedCommand[],
  words: readonly string[],
  version: string,
): string {
  const exits = Object.entries(exitCodes).map(([code, meaning]) => toItem(code, meaning));
  const errors = Object.entries(errorCodes).map(([code, { exit, meaning }]) =>
    toItem(code, `${meaning} (exit code ${exit})`),
  );
  return [
    toHead("croft", version),
    section("NAME", escape("croft - a self-hosted forge and document vault")),
    section("SYNOPSIS", `${bold("croft")} ${escape("COMMAND [flags]")}`),
    section("COMMANDS", ...commands.map(({ line, summary }) => toItem(`croft ${line}`, summary))),
    section("EXIT STATUS", ...exits),
    section("ERROR CODES", escape("The error.code of a failure with --json:"), ...errors),
    section("SEE ALSO", words.map((word) => `${bold(`croft-${word}`)}(1)`).join(", ")),
  ].join("\n");
}

function toPage(word: string, commands: readonly LoadedCommand[], version: string): string {
  const [first] = commands;
  const isSingle = commands.length === 1 && first?.line === word;
  const summary = isSingle ? first.summary : `commands of croft ${word}`;
  return [
    toHead(`croft-${word}`, version),
    section("NAME", escape(`croft-${word} - ${summary}`)),
    ...commands.map(toSection),
    section(
      "SEE ALSO",
      `${bold("croft")}(1)${escape(', "croft COMMAND --help" for the common flags')}`,
    ),
  ].join("\n");
}

function toSection({ line, summary, examples, command }: LoadedCommand): string {
  const own = listOwnFlags(command);
  return [
    `.SH ${escape(`croft ${line}`.toUpperCase())}`,
    escape(`${summary}.`),
    `.PP\n${bold(lineOf(command))} ${escape(command.usage())}`,
    ...command.registeredArguments.map((argument) =>
      toItem(new Help().argumentTerm(argument), argument.description),
    ),
    ...own.map((option) => toItem(option.flags, toFlagDescription(option))),
    ...(examples.length === 0 ? [] : [".PP\nExamples:"]),
    ...examples.map(
      ([sentence, example]) =>
        `.PP\n${escape(sentence)}:\n.PP\n.RS 4\n.nf\n${escape(foldCommand(example, 70).join("\n"))}\n.fi\n.RE`,
    ),
  ].join("\n");
}

function toHead(name: string, version: string): string {
  return `.TH ${name.toUpperCase()} 1 "" "croft ${version}" "croft"`;
}

function section(title: string, ...parts: readonly string[]): string {
  return [`.SH ${title}`, ...parts].join("\n");
}

function toItem(term: string, text: string): string {
  return `.TP\n${bold(term)}\n${escape(text)}`;
}

function bold(text: string): string {
  return `\\fB${escapeInline(text)}\\fR`;
}

/** Text that starts a line: there a dot or an apostrophe would begin a request. */
function escape(text: string): string {
  return escapeInline(text).replaceAll(/^(?=[.'])/gm, "\\&");
}

/** A plain hyphen may be rendered as a dash, which cannot be copied into a shell. */
function escapeInline(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll(/\n+/g, "\n");
}
