// Runs a line: finds its command, loads the file of that command only, parses, runs and reports. tree/ holds the tree.
// CONTRIBUTING.md has the recipe for a new command.
import { type Command, CommanderError } from "commander";
import { suggest } from "../daemon/settings/suggest.ts";
import { commandGroups, createCommands } from "./commands/root.ts";
import { type CliRun, createContext } from "./context.ts";
import { CliError, usageError } from "./errors.ts";
import {
  asksForMachineOutput,
  type CommonFlags,
  isMachineOutput,
  readCommonFlags,
  markPlainJson,
} from "./flags.ts";
import { findVariableMistakes } from "./profile/config.ts";
import { listenForStops, reportFailure } from "./report.ts";
import type { System } from "./system.ts";
import {
  attach,
  createGroup,
  createLeaf,
  createRoot,
  defineCommand,
  isCommonFlag,
  lineOf,
  findCommand,
} from "./tree/command-tree.ts";
import type { CommandDefinition, Noun, Verb } from "./tree/entry.ts";
import { addFolderRepository, takesFolder } from "./tree/folder-repository.ts";
import { version } from "./version.ts";

/** The top of the command tree. */
export const commands = createCommands(runProgram);

/** The result of a run. */
interface ProgramEnd {
  readonly exitCode: number;
  /** A native call may never return, or a pipe never end: the process must be ended by force. */
  readonly isStuck: boolean;
}

/** Runs a line; failures are printed here. */
export async function runProgram(argv: readonly string[], system: System): Promise<ProgramEnd> {
  const stopping = listenForStops(system);
  const cli = createContext(system, stopping);
  let flags: CommonFlags | undefined;
  const onFlags = (read: CommonFlags) => {
    flags = read;
    cli.useFlags(read);
  };
  try {
    await Promise.race([runLine(argv, cli, onFlags), stopping.stopped]);
    return { exitCode: cli.exitCode, isStuck: cli.isStuck };
  } catch (error) {
    const isMachine = flags === undefined ? asksForMachineOutput(argv) : isMachineOutput(flags);
    const exitCode = await reportFailure(error, cli, isMachine);
    // After a stop signal, a stalled reader or writer must not keep the process alive.
    return { exitCode, isStuck: cli.isStuck || cli.signal.aborted };
  } finally {
    stopping.forget();
  }
}

async function runLine(
  argv: readonly string[],
  cli: CliRun,
  onFlags: (flags: CommonFlags) => void,
): Promise<void> {
  const { path, verb, rest } = await findCommand(argv, commands);
  if (verb === undefined) return runGroup(path, rest, cli);
  const module = await verb.load();
  const leaf = createLeaf(verb);
  attach(attachGroups(path, cli), leaf);
  defineCommand(leaf, module, cli);
  if (asksForHelp(rest)) await addExamples(leaf, path, verb, module);
  leaf.hook("preAction", async () => {
    onFlags(readCommonFlags(leaf));
    const line = [...path, verb].map(({ name }) => name).join(" ");
    // Completion prints only values, and `serve` refuses such variables itself.
    if (!verb.hidden && line !== "serve") await warnOfVariables(cli);
    const { assertKnownValues, isMissing } = await import("./tree/usage-errors.ts");
    assertKnownValues(leaf, line, module);
    await cli.output.prepare(module.output);
    // A dry run may need fewer values: it stops at the first prompt.
    if (module.prompted !== undefined && !cli.flags.dryRun)
      await cli.prompts.require(
        module.prompted.map((flag) => ({ flag, isMissing: isMissing(flag, leaf) })),
      );
  });
  try {
    const words = takeUrl(markPlainJson(rest, leaf), leaf);
    await parse(leaf, await completeWords(words, leaf, path, verb, module, cli), cli, module);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const { explainError } = await import("./tree/explain-error.ts");
    throw await explainError(error, { path, verb, module, leaf, cli });
  }
}

/**
 * Makes `--url <url>` the argument <url> of a command that has this argument, when the line gives no other address. With
 * both, `--url` is the daemon's, as everywhere.
 */
function takeUrl(words: readonly string[], leaf: Command): readonly string[] {
  const isAddress = (word = "") => /^https?:\/\//i.test(word);
  const takes = leaf.registeredArguments.some((argument) => argument.name() === "url");
  const at = words.findIndex((word) => word === "--url" || word.startsWith("--url="));
  if (!takes || at === -1) return words;
  const isJoined = words[at] !== "--url";
  const url = isJoined ? words[at]?.slice("--url=".length) : words[at + 1];
  const others = words.toSpliced(at, isJoined ? 1 : 2);
  const takesValue = (word = "") =>
    leaf.options.some(
      (option) => [option.long, option.short].includes(word) && !option.isBoolean(),
    );
  const isGiven = others.some((word, index) => isAddress(word) && !takesValue(others[index - 1]));
  if (isGiven || !isAddress(url)) return words;
  // A flag that takes several values would take it as well.
  return others.includes("--") ? [...others, url ?? ""] : [...others, "--", url ?? ""];
}

/** Adds the repository of the current folder to a line about a repository that does not name it. */
async function completeWords(
  words: readonly string[],
  leaf: Command,
  path: readonly Noun[],
  verb: Verb,
  module: CommandDefinition,
  cli: CliRun,
): Promise<readonly string[]> {
  if (!takesFolder(leaf, lineOf(leaf)) || asksForHelp(words)) return words;
  const probe = createLeaf(verb);
  attach(attachGroups(path, cli), probe);
  defineCommand(probe, module, cli);
  return addFolderRepository(words, lineOf(leaf), probe, cli);
}

/** Machine output has room for one line of error on standard error, and for no warnings. */
async function warnOfVariables(cli: CliRun): Promise<void> {
  if (cli.output.isMachine) return;
  for (const mistake of await findVariableMistakes(cli.system)) cli.io.warn(`warning: ${mistake}`);
}

/** Puts the examples of a command below its summary, where its help page shows them. */
async function addExamples(
  leaf: Command,
  path: readonly Noun[],
  verb: Verb,
  module: CommandDefinition,
): Promise<void> {
  const { examplesOf, toExamplesText } = await import("./tree/examples.ts");
  const line = [...path, verb].map(({ name }) => name).join(" ");
  const found = examplesOf(module, line);
  if (found.length === 0) return;
  leaf.description(`${leaf.description()}\n\n${toExamplesText(found, helpWidthOf(leaf))}`);
}

function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).some((word) => word === "--help" || word === "-h");
}

/** Handles a line that stops at a group: prints its help, or fails because the command is missing. */
async function runGroup(
  path: readonly Noun[],
  rest: readonly string[],
  cli: CliRun,
): Promise<void> {
  if (path.length === 0 && rest[0] === "--version") return cli.io.write(`croft ${version}\n`);
  const group = attachGroups(path, cli);
  if (path.length === 0 && (asksForHelp(rest) || rest.length === 0)) {
    const { toTopHelp } = await import("./tree/top-help.ts");
    return cli.writeLong(await toTopHelp(commands, commandGroups, helpWidthOf(group)));
  }
  if (asksForHelp(rest)) {
    for (const entry of (await path.at(-1)?.load())?.entries ?? [])
      if (entry.kind === "noun" || !entry.hidden) attach(group, createGroup(entry));
    return cli.writeLong(group.helpInformation());
  }
  const flag = rest.find((word) => word.startsWith("-") && !isCommonFlag(word));
  if (flag !== undefined)
    throw usageError(
      `unknown flag ${flag}${suggest(flag, ["--help", ...(path.length === 0 ? ["--version"] : [])])}`,
      "flags of a command come after it",
    );
  throw usageError(`"${lineOf(group)}" takes a command`, `"${lineOf(group)} --help" lists them`);
}

function helpWidthOf(command: Command): number {
  return command.configureOutput().getOutHelpWidth?.() ?? 80;
}

/** The groups on the way to a command, so that its help names them. */
function attachGroups(path: readonly Noun[], cli: CliRun): Command {
  return path.reduce((parent, group) => {
    const command = createGroup(group);
    attach(parent, command);
    return command;
  }, createRoot(cli));
}

async function parse(
  leaf: Command,
  words: readonly string[],
  cli: CliRun,
  { prompted }: CommandDefinition,
): Promise<void> {
  try {
    await leaf.parseAsync([...words], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed") return;
    const { toUsageFailure } = await import("./tree/usage-errors.ts");
    // The flags of the line are not known where it could not be parsed.
    const canAsk = !asksForMachineOutput(words) && (await cli.prompts.canAsk());
    throw toUsageFailure(error, leaf, canAsk ? [] : prompted);
  } finally {
    await cli.flush();
  }
}
